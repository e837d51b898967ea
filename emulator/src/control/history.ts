/**
 * Generates a month of plausible traffic as facts that end where the present begins. The traffic has a daily and weekly
 * rhythm, noise, and an outage of a destination some days ago. Messages end in the stretch that creates them, so
 * `created` = `delivered` + `failed` + `canceled` over any period.
 */
import type { Random } from '#foundation/platform/random.ts';
import type { Fact } from '../statistics/facts.ts';
import { DAY_MS, dayOf, MINUTE_MS } from '../statistics/point-time.ts';
import type { Statistics } from '../statistics/statistics.ts';

export interface HistoryOptions {
  readonly statistics: Pick<Statistics, 'record'>;
  readonly accountId: string;
  readonly random: Random;
  /** Epoch milliseconds. The minute of `now` is left to real events. */
  readonly now: number;
  /** At most 31, the memory of the statistics. */
  readonly days: number;
}

export interface History {
  /** Messages created, those of workflows included. */
  readonly messages: number;
  /** Delivery attempts. Each one is billed. */
  readonly attempts: number;
  /** Epoch milliseconds, [from, to). */
  readonly outage: { readonly from: number; readonly to: number };
}

/** A type of traffic. */
interface Stream {
  readonly workflow: boolean;
  /** Mean messages per minute. */
  readonly perMinute: number;
  /** Share of attempts that fail, in normal operation and in the outage. */
  readonly failing: number;
  readonly failingInOutage: number;
  /** Maximum attempts of a message. */
  readonly attempts: number;
  readonly canceled: number;
  readonly createdBytes: number;
  readonly attemptBytes: number;
}

const STREAMS: readonly Stream[] = [
  {
    workflow: false,
    perMinute: 230,
    failing: 0.05,
    failingInOutage: 0.55,
    attempts: 3,
    canceled: 0.0005,
    createdBytes: 420,
    attemptBytes: 610,
  },
  {
    workflow: true,
    perMinute: 45,
    failing: 0.09,
    failingInOutage: 0.7,
    attempts: 3,
    canceled: 0.0003,
    createdBytes: 260,
    attemptBytes: 390,
  },
];

const OUTAGE_MS = 140 * MINUTE_MS;

/**
 * Length of an older stretch. The last day has one stretch per minute, older days one per twelve minutes. Every period
 * longer than a day has steps that are multiples of twelve minutes, so no period shows finer detail.
 */
const STRETCH_MS = 12 * MINUTE_MS;

export function replayHistory(options: HistoryOptions): History {
  const { statistics, accountId, random } = options;
  const end = Math.floor(options.now / MINUTE_MS) * MINUTE_MS;
  const start = end - Math.round(Math.min(options.days, 31) * (DAY_MS / MINUTE_MS)) * MINUTE_MS;
  const outageFrom = end - Math.floor((2.5 + 2 * random()) * (DAY_MS / MINUTE_MS)) * MINUTE_MS;
  const outage = { from: outageFrom, to: outageFrom + OUTAGE_MS };
  let messages = 0;
  let attempts = 0;

  const record = (fact: Fact, times: number): void => {
    if (times === 0) return;
    if (fact.kind === 'created') messages += times;
    if (fact.kind === 'attempt') attempts += times;
    statistics.record(accountId, fact, times);
  };

  for (let at = start, minutes = 1; at < end; at += minutes * MINUTE_MS) {
    const coarse = at % STRETCH_MS === 0 && at < end - DAY_MS - STRETCH_MS;
    minutes = coarse ? STRETCH_MS / MINUTE_MS : 1;
    const inOutage = at >= outage.from && at < outage.to;
    const rhythm = rhythmAt(at);
    for (const stream of STREAMS) {
      const created = wholeOf(stream.perMinute * minutes * rhythm * (0.85 + 0.3 * random()), random);
      const { workflow } = stream;
      record({ kind: 'created', at, workflow, run: workflow, bytes: stream.createdBytes }, created);
      const canceled = wholeOf(created * stream.canceled, random);
      record({ kind: 'canceled', at, workflow }, canceled);
      let open = created - canceled;
      for (let attempt = 1; attempt <= stream.attempts; attempt++) {
        const failing = wholeOf(open * (inOutage ? stream.failingInOutage : stream.failing), random);
        const last = attempt === stream.attempts;
        const bytes = stream.attemptBytes;
        record({ kind: 'attempt', at, workflow, outcome: 'delivered', bytes }, open - failing);
        record({ kind: 'attempt', at, workflow, outcome: last ? 'failed' : 'retry', bytes }, failing);
        open = failing;
      }
    }
  }
  return { messages, attempts, outage };
}

/**
 * Returns the relative traffic, on average 1 over a week: high in the day, low at night, half on Saturday and Sunday.
 */
function rhythmAt(at: number): number {
  const hour = (at % DAY_MS) / (DAY_MS / 24);
  const daily = 1 + 0.55 * Math.sin(((hour - 8) / 24) * 2 * Math.PI);
  // The epoch was a Thursday: days 2 and 3 of each seven are Saturday and Sunday.
  const weekday = dayOf(at) % 7;
  return daily * (weekday === 2 || weekday === 3 ? 0.58 : 1.168);
}

/** Returns a whole number whose mean is `value`. */
function wholeOf(value: number, random: Random): number {
  const whole = Math.floor(value);
  return random() < value - whole ? whole + 1 : whole;
}
