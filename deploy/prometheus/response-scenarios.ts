/** Failures of a destination, planned: the matrix of shares, traffic, history and duration that docs/alerts.md shows. */

/** Minutes with constant shares of failures. */
export interface Phase {
  /** Infinity: until the playback ends. */
  readonly minutes: number;
  readonly attempts: number;
  /** Messages that fail permanently; none while retries still help. */
  readonly messages?: number;
  /** The counters begin at zero again. */
  readonly reset?: boolean;
  /** The daemon is not scraped. */
  readonly away?: boolean;
}

export interface Scenario {
  readonly failure: string;
  /** `new`: its first message is the first of the failure. */
  readonly destination: 'old' | 'new';
  /** Messages a minute; each has one attempt. */
  readonly perMinute: number;
  readonly phases: readonly Phase[];
}

type Destination = Scenario['destination'];

const HIGH = 60;
const LOW = 1;
const ALWAYS = Number.POSITIVE_INFINITY;

const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`;

/** Attempts fail, and retries still deliver the messages. */
function retried(destination: Destination, perMinute: number, shares: readonly number[]): Scenario[] {
  return shares.map((attempts) => ({
    failure: `${percent(attempts)} of attempts`,
    destination,
    perMinute,
    phases: [{ minutes: ALWAYS, attempts }],
  }));
}

/** Messages fail permanently at their only attempt. */
function lost(destination: Destination, perMinute: number, shares: readonly number[]): Scenario[] {
  return shares.map((share) => ({
    failure: `${percent(share)} of messages`,
    destination,
    perMinute,
    phases: [{ minutes: ALWAYS, attempts: share, messages: share }],
  }));
}

function ended(destination: Destination, { attempts, messages = 0, minutes }: Phase): Scenario {
  const what = messages > 0 ? `${percent(messages)} of messages` : `${percent(attempts)} of attempts`;
  const failure = `${what}, for ${minutes} minutes`;
  return { failure, destination, perMinute: HIGH, phases: [{ minutes, attempts, messages }] };
}

/** Messages of an account with this traffic that fail permanently within a minute, and no others. */
function atOnce(messages: number, perMinute: number): Scenario {
  const share = messages / perMinute;
  return {
    failure: `${messages} messages at once`,
    destination: 'old',
    perMinute,
    phases: [{ minutes: 1, attempts: share, messages: share }],
  };
}

export const SCENARIOS: readonly Scenario[] = [
  ...retried('old', HIGH, [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1]),
  ...retried('old', LOW, [0.1, 0.2, 0.3, 0.5, 1]),
  ...retried('new', HIGH, [0.05, 0.2, 0.5, 1]),
  ...retried('new', LOW, [0.2, 0.5, 1]),
  ...lost('old', HIGH, [0.02, 0.05, 0.1, 0.2, 0.5, 1]),
  ...lost('old', LOW, [0.1, 0.5]),
  ...lost('new', HIGH, [0.02, 0.1, 0.5, 1]),
  ...lost('new', LOW, [0.5]),
  atOnce(10, HIGH),
  atOnce(10, 10),
  ended('new', { minutes: 5, attempts: 0.08, messages: 0.08 }),
  ended('new', { minutes: 5, attempts: 0.5, messages: 0.5 }),
  ended('old', { minutes: 5, attempts: 0.5, messages: 0.5 }),
  ended('new', { minutes: 5, attempts: 1 }),
  ended('old', { minutes: 5, attempts: 1 }),
  ended('old', { minutes: 30, attempts: 0.5 }),
  ended('old', { minutes: 30, attempts: 1 }),
  ended('old', { minutes: 60, attempts: 0.5, messages: 0.5 }),
  {
    failure: 'none, counters restart at zero',
    destination: 'old',
    perMinute: HIGH,
    phases: [{ minutes: ALWAYS, attempts: 0, reset: true }],
  },
  {
    failure: '50 % of messages, counters restart at zero after 10 minutes',
    destination: 'old',
    perMinute: HIGH,
    phases: [
      { minutes: 10, attempts: 0.5, messages: 0.5 },
      { minutes: ALWAYS, attempts: 0.5, messages: 0.5, reset: true },
    ],
  },
  {
    failure: '50 % of attempts, daemon away from minute 5 to 15',
    destination: 'old',
    perMinute: HIGH,
    phases: [
      { minutes: 5, attempts: 0.5 },
      { minutes: 10, attempts: 0.5, away: true },
      { minutes: ALWAYS, attempts: 0.5 },
    ],
  },
];

/** For the warnings over days: what lasts, so that a sample every ten minutes shows it. */
export const SLOW_SCENARIOS: readonly Scenario[] = [
  ...lost('old', HIGH, [0.005, 0.01, 0.02, 0.05]),
  ...lost('new', HIGH, [0.02]),
  ...lost('old', LOW, [0.02, 0.05]),
];
