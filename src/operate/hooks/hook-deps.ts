/** What the hooks hand on to. */
import type { Trigger } from '#foundation/domain/plan.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { SignalInbox } from '#automate/ledger/signals.ts';
import type { Door } from '../http/door.ts';

export interface HookDeps {
  readonly ledger: SignalInbox;
  /** Policies that may run. `when`: a `PolicyWhen` (policies/policy.ts); its `alert` and `failureCallback` count here. */
  policies(): readonly { readonly name: string; readonly account: string; readonly when: object }[];
  /** Lets a policy run soon; returns at once. */
  run(policy: string, trigger: Trigger): void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  /** What the web configuration file says of their address. */
  readonly door?: Door;
}
