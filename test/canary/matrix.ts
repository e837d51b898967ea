/** Runs cases: a canary that was fine meets its causes, and its next message has a verdict. */
import type { CanaryVerdict } from '#foundation/domain/canary.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { SWITCH_VALUES, type Switches } from '#emulator/state/switches.ts';
import type { Case } from './causes.ts';
import { pick, type Via } from './cause.ts';
import { quiet } from './quiet.ts';
import { FLOW_KEY, openStage, URL_GROUP, type Stage } from './stage.ts';

export interface Result {
  readonly case: Case;
  /** Absent if the message had no verdict in time, or an earlier one was not `ok`. */
  readonly verdict?: CanaryVerdict;
  /** Sentence of the verdict, or the reason of its absence. */
  readonly reason: string;
  readonly log: readonly string[];
}

const START = Date.UTC(2026, 10, 20, 12);
/** Cases that share a clock. */
const AT_ONCE = 24;
const STEP_MS = 250;
/** Messages before the cause: the first one is a warm-up, the second one is of the real size, all others are small. */
const WELL = { real: 1, small: 2 } as const;
const LONGEST_MS = 20 * 60_000;

/** Switches of the service that its clients must tolerate. */
const TOLERATED = [
  'logState',
  'endCursor',
  'logOrder',
  'groupPublish',
  'canceledSpelling',
  'unknownFilter',
  'rateLimitHeaders',
] as const;

const ROUTES = {
  url: undefined,
  key: { flowControlKey: FLOW_KEY },
  group: { urlGroup: URL_GROUP },
  workflow: { workflow: true },
} as const satisfies Record<Via, unknown>;

/** @param onResult called after each case, in any order */
export async function runCases(cases: readonly Case[], onResult: (result: Result) => void): Promise<void> {
  for (let first = 0; first < cases.length; first += AT_ONCE) {
    const clock = new ManualClock(START);
    const running = new Set(cases.slice(first, first + AT_ONCE));
    for (const one of running) {
      void runCase(one, clock)
        .catch((error: unknown) => ({ case: one, reason: String(error), log: [] }))
        .then((result) => {
          running.delete(one);
          onResult(result);
        });
    }
    while (running.size > 0) {
      await clock.advance(STEP_MS);
      await quiet();
    }
  }
}

async function runCase(one: Case, clock: ManualClock): Promise<Result> {
  const random = seededRandom(one.seed);
  const skewMs = one.causes.find((cause) => cause.skewMs !== undefined)?.skewMs;
  await using stage = await openStage({
    clock,
    seed: one.seed,
    via: ROUTES[one.via],
    signed: one.signed,
    switches: switchesOf(random),
    skewMs,
  });
  const { log } = stage;
  for (let message = 0; message < WELL[one.size]; message++) {
    const before = await nextVerdict(stage, message);
    if (before?.verdict === 'ok') continue;
    return { case: one, reason: `not ok before the cause: ${before?.verdict} (${before?.reason})`, log };
  }
  const seen = stage.verdicts.length;
  for (const cause of one.causes) await cause.inject(stage, random);
  const after = await nextVerdict(stage, seen);
  if (after === undefined) return { case: one, reason: 'no verdict in time', log };
  return { case: one, verdict: after.verdict, reason: after.reason, log };
}

async function nextVerdict({ clock, verdicts }: Stage, after: number): Promise<Stage['verdicts'][number] | undefined> {
  const end = clock.monotonic() + LONGEST_MS;
  while (verdicts.length <= after && clock.monotonic() < end) {
    await new Promise<void>((resolve) => void clock.after(STEP_MS, resolve));
  }
  return verdicts[after];
}

function switchesOf(random: Random): Partial<Switches> {
  return Object.fromEntries(TOLERATED.map((name) => [name, pick<unknown>(random, SWITCH_VALUES[name])]));
}
