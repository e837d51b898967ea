/** Samples the readings for the history once a minute. */
import type { HistorySample, HistoryStore } from '#observe/aggregation/history-store.ts';
import type { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import type { ObservationBoard } from '#observe/observations/board.ts';
import type { GenerationBase } from './generation-base.ts';

/** Maximum number of flow-control keys in a sample, and of the bytes of their names. */
const MOST_KEYS = 10;
const MOST_BYTES = 400;

interface HistoryDeps extends Pick<GenerationBase, 'board'> {
  readonly scheduler: Pick<GenerationBase['scheduler'], 'add'>;
  readonly clock: Pick<GenerationBase['clock'], 'now' | 'isVerified'>;
  readonly accounts: readonly string[];
  readonly incidents: Pick<IncidentWatch, 'deadLetters'>;
  readonly store: HistoryStore;
}

export function scheduleHistory({ accounts, scheduler, board, incidents, clock, store }: HistoryDeps): void {
  scheduler.add({
    name: 'history',
    // A minute with two samples keeps the higher values, and one without is unknown.
    schedule: { every: 60_000 },
    timeoutMs: 60_000,
    async run() {
      // With a wrong clock, samples would be in the wrong minute.
      if (!clock.isVerified()) return;
      const at = clock.now();
      await store.addSamples(
        accounts.map((account) =>
          sampleOf(account, { at, board, deadLetters: incidents.deadLetters(account)?.length }),
        ),
      );
    },
  });
}

interface SampleFacts {
  readonly at: number;
  readonly board: Pick<ObservationBoard, 'fresh'>;
  readonly deadLetters: number | undefined;
}

/** Returns the fresh readings of an account. */
export function sampleOf(account: string, { at, board, deadLetters }: SampleFacts): HistorySample {
  const [log] = board.fresh(account, 'logs')?.rows ?? [];
  const [stats] = board.fresh(account, 'accountStats')?.rows ?? [];
  return {
    account,
    at,
    inFlight: log?.inFlight?.reduce((sum, { messages }) => sum + messages, 0),
    failedRuns: board.fresh(account, 'workflowDlq')?.rows.length,
    deadLetters: deadLetters,
    spendUsd: stats?.spend?.monthUsd,
    flowControl: flowControlOf(board.fresh(account, 'flowControl')?.rows),
  };
}

function flowControlOf(
  rows: readonly { readonly flowControlKey: string; readonly waitListSize: number }[] | undefined,
): HistorySample['flowControl'] {
  if (rows === undefined) return undefined;
  const waiting = rows
    .filter(({ waitListSize }) => waitListSize > 0)
    .toSorted((a, b) => b.waitListSize - a.waitListSize);
  let bytes = 0;
  const kept = waiting
    .slice(0, MOST_KEYS)
    .filter(({ flowControlKey: key }) => (bytes += Buffer.byteLength(JSON.stringify(key))) <= MOST_BYTES);
  return {
    keys: kept.map(({ flowControlKey, waitListSize }) => [flowControlKey, waitListSize]),
    isCut: kept.length < waiting.length,
  };
}
