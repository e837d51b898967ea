/** The engine's actions over one client, for tests. */
import type { Actions, ActionsDeps } from '#automate/actions/index.ts';
import { createActions } from '#automate/actions/index.ts';
import type { ServiceClient } from '#service/api.ts';
import { EventBus } from '#foundation/events/events.ts';
import { systemClock } from '#foundation/platform/clock.ts';

interface Over extends Partial<ActionsDeps> {
  readonly account?: string;
}

export function actionsOver(client: ServiceClient, { account = 'production', ...deps }: Over = {}): Actions {
  const common = { clock: systemClock, events: new EventBus(), accountIds: new Map([[account, 'acc-1']]) };
  return createActions(new Map([[account, client]]), { ...common, ...deps });
}
