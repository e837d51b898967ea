/** Shows the accounts of this replica to the others, every few seconds while it owns them. */
import type { Clock } from '#foundation/platform/clock.ts';
import { isLeaseLost } from '#foundation/events/store-failure.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { repeat } from './repeat.ts';
import { ownAccount, type OwnFacts, type OwnMemory } from './own-account.ts';
import type { ViewStore } from './view-store.ts';
import { ViewWriter } from './view-writer.ts';

/** Pause between two rounds. */
const PUBLISH_EVERY_MS = 3_000;

export interface PublisherDeps {
  readonly store: ViewStore;
  readonly clock: Clock;
  readonly accounts: readonly string[];
  readonly memory: OwnMemory;
  /** Returns true while this replica owns the account. */
  owns(account: string): boolean;
  facts(): Promise<OwnFacts>;
  /** Called when rounds begin to fail, with the reason. */
  readonly onProblem: (message: string) => void;
}

/** Ends at disposal, after the write in progress. */
export function publishViews(deps: PublisherDeps): AsyncDisposable {
  const { store, clock, accounts, memory, onProblem } = deps;
  const problems = new Set<string>();
  const writer = new ViewWriter(store, (error) => {
    if (!isLeaseLost(error)) problems.add(errorMessage(error));
  });
  return repeat({ clock, everyMs: PUBLISH_EVERY_MS, onProblem }, async (signal) => {
    const facts = await deps.facts();
    problems.clear();
    for (const account of accounts) {
      if (signal.aborted) return;
      if (deps.owns(account)) await writer.add(account, ownAccount(account, facts, memory));
    }
    await writer.flush();
    if (problems.size > 0) throw new Error([...problems].join('; '));
  });
}
