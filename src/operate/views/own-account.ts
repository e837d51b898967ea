/** An account of this replica, as it shows it to the others. */
import type { CanaryState } from '#foundation/domain/canary.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { IncidentSet } from '#observe/incidents/incident-set.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ApiUsage, LabelView } from '../contract/status.ts';
import type { SharedAccount, ListName, SharedCollector, SharedList } from './account-view.ts';

/** Window of the attempts that an incident shows. */
const ATTEMPTS_MS = 15 * 60_000;

/** Memory of a replica about its accounts. */
export interface OwnMemory {
  readonly clock: Clock;
  readonly board: Pick<ObservationBoard, 'statuses' | 'latest' | 'freshAt' | 'logLag'>;
  readonly attempts: Pick<RecentAttempts, 'share'>;
  readonly incidents: { readonly present: Pick<IncidentSet, 'share'> } & {
    deadLetters(account: string): readonly DeadLetter[] | undefined;
  };
  usage(account: string): readonly ApiUsage[];
}

/** Facts of all accounts of a replica. */
export interface OwnFacts {
  readonly policies: readonly PolicyStatus[];
  readonly conditions: readonly Condition[];
  readonly labels: readonly LabelView[];
  readonly canaries: readonly CanaryState[];
}

export function ownAccount(account: string, facts: OwnFacts, memory: OwnMemory): SharedAccount {
  const { clock, board, attempts, incidents } = memory;
  const isOf = (one: { readonly account?: string }): boolean => one.account === account;
  const lists = new Map<ListName, SharedList>();
  const collectors = board.statuses().flatMap((status): SharedCollector[] => {
    if (!isOf(status)) return [];
    const batch = board.latest(account, status.collector);
    if (batch === undefined) return [{ status }];
    const { at, dropped, rows } = batch;
    lists.set(status.collector, { revision: rows, rows: () => rows });
    return [{ status, batch: { at, dropped, freshAt: board.freshAt(account, status.collector)! } }];
  });
  const shared = incidents.present.share(account);
  lists.set('incidents', { revision: shared.revision, rows: () => shared.incidents() });
  lists.set('members', { revision: shared.revision, rows: () => shared.members() });
  const deadLetters = incidents.deadLetters(account);
  if (deadLetters !== undefined) lists.set('deadLetters', { revision: deadLetters, rows: () => deadLetters });
  const { watermark, catchUpRatio } = board.logLag.of(account) ?? {};
  return {
    facts: {
      collectors,
      watermark,
      attempts: attempts.share(account, ATTEMPTS_MS),
      policies: facts.policies.filter(isOf),
      conditions: facts.conditions.filter(isOf),
      usage: memory.usage(account),
      labels: facts.labels.filter(isOf),
      canaries: facts.canaries.filter(isOf),
      hasDeadLetters: deadLetters !== undefined,
    },
    moving: { monotonic: clock.monotonic(), catchUpRatio },
    lists,
  };
}
