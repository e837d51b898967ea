/** Sends cases to an emulator, many concurrently, and records the results. */
import { seededRandom } from '#foundation/platform/random.ts';
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Credentials } from './draft.ts';
import { fuzzCase } from './fuzz-case.ts';
import { UNDER_FAULTS, unrest, work } from './load.ts';
import { sendRaw } from './raw-client.ts';
import { verdict } from './verdict.ts';

export interface Tally {
  sent: number;
  /** Longest response by operation. Moving time may take long, because it awaits deliveries. */
  readonly slowestMs: Map<string, number>;
  readonly statuses: Map<number, number>;
  /** Violations, with the seed that reproduces each. */
  readonly found: string[];
}

export interface RunOptions {
  readonly credentials: Credentials;
  readonly firstSeed: number;
  readonly cases: number;
  readonly atOnce: number;
  /** Destination of messages under load, with moving time and faults. Absent means no load. */
  readonly sink?: string;
  /** Real milliseconds of `performance.now()` after which no further case begins. */
  readonly until?: number;
}

export const newTally = (): Tally => ({ sent: 0, slowestMs: new Map(), statuses: new Map(), found: [] });

/** Maximum number of reported violations; more add no information. */
const MOST_FOUND = 20;

export async function runCases(emulator: RunningEmulator, tally: Tally, options: RunOptions): Promise<void> {
  const { credentials, firstSeed, cases, sink, until = Infinity } = options;
  const random = seededRandom(firstSeed);
  let next = 0;
  let running = true;
  const others = sink === undefined ? undefined : unrest(emulator, random, () => !running);
  const worker = async (): Promise<void> => {
    while (next < cases && performance.now() < until && tally.found.length < MOST_FOUND) {
      const made = fuzzCase(firstSeed + next++, credentials);
      await send(emulator.url, tally, made, sink === undefined ? {} : UNDER_FAULTS);
      if (sink === undefined) continue;
      const bytes = work(random, sink, credentials);
      const good = { ...made, operation: 'good work', changes: [], bad: false, where: undefined, bytes, cut: false };
      await send(emulator.url, tally, good, UNDER_FAULTS);
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, worker));
  running = false;
  await others;
}

async function send(
  url: string,
  tally: Tally,
  made: ReturnType<typeof fuzzCase>,
  tolerance: Parameters<typeof verdict>[2],
): Promise<void> {
  const began = performance.now();
  const wrong = await sendRaw(url, made).then((answers) => {
    for (const { status } of answers) tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    return verdict(made, answers, tolerance);
  }, String);
  tally.sent++;
  const slowest = tally.slowestMs.get(made.operation) ?? 0;
  tally.slowestMs.set(made.operation, Math.max(slowest, performance.now() - began));
  if (wrong !== undefined) {
    tally.found.push(`${made.operation}, seed ${made.seed} (${made.changes.join('; ')}): ${wrong}`);
  }
}
