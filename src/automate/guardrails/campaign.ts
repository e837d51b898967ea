/**
 * Rules of a campaign, as pure functions from one state to the next. They are total: an event that does not fit the
 * state changes nothing. Invariants: each step is judged before the next one starts, only verified results let the size
 * grow, and a halted group sends nothing while its breaker is open.
 *
 * A campaign is half-open from its first halt until a step is verified: `halts` is above 0.
 */
import { isReopening, type Campaign } from '#foundation/domain/campaign.ts';

/** Part of a policy's ramp that the campaign uses. `settle` is in milliseconds. */
export interface Growth {
  readonly start: number;
  readonly factor: number;
  readonly max: number;
  readonly settle: number;
  /** Milliseconds that the breaker stays open after each consecutive halt. Default: 30 min, 2 h, 6 h. */
  readonly breaker?: readonly number[];
}

/** Outcomes of one step's actions. Actions that provably had no effect are not included. */
export interface StepResults {
  /** Left the DLQ, and did not return before the horizon. */
  readonly verified: number;
  /** Failed again, or no reading can show the outcome. */
  readonly failed: number;
  /** Outcome not yet known. */
  readonly undecided: number;
}

const MINUTE_MS = 60_000;
/**
 * Milliseconds that the breaker stays open after the first consecutive halt, the second, and so on. One more halt puts
 * the group in audit.
 */
const BREAKER_MS = [30 * MINUTE_MS, 120 * MINUTE_MS, 360 * MINUTE_MS];
const LONGEST_WAIT_MS = 45 * MINUTE_MS;
const RECENT = 50;
const LEAST_RECENT = 10;
const FIRST = 10;
const TOO_MANY_OF_THE_FIRST = 3;
const HALT_BELOW = 0.7;
/** Share of verified results below which a step is bad. It equals the share at which a destination is healthy. */
const VERIFIED_FROM = 0.9;

export function begin(
  of: Pick<Campaign, 'id' | 'policy' | 'account' | 'group'>,
  { ramp, now }: { readonly ramp: Growth; readonly now: number },
): Campaign {
  return {
    ...of,
    state: 'ready',
    step: 1,
    size: Math.min(ramp.start, ramp.max),
    begunAt: now,
    halts: 0,
    recent: [],
    judged: 0,
    verified: 0,
  };
}

/**
 * Records that actions of a step were sent: after each action, or once after all. `settle` comes from the step if it
 * has one, else from the ramp.
 */
export function sent(
  campaign: Campaign,
  act: { readonly count: number; readonly now: number; readonly horizonMs: number; readonly ramp: Growth },
): Campaign {
  const { state, until = 0 } = campaign;
  if (act.count <= 0 || (state !== 'ready' && state !== 'settling')) return campaign;
  const settled = act.now + Math.max(settleOf(campaign, act.ramp), act.horizonMs);
  return { ...campaign, state: 'settling', sentAt: act.now, until: Math.max(until, settled) };
}

/** Returns how long the actions of the campaign's step wait for their verdict, not counting their own retries. */
export function settleOf({ settle }: Pick<Campaign, 'settle'>, ramp: Pick<Growth, 'settle'>): number {
  return settle ?? ramp.settle;
}

/** Recomputes when the current step is judged: `settle` may have been changed or overruled since it was sent. */
export function retimed(campaign: Campaign, wait: { readonly horizonMs: number; readonly ramp: Growth }): Campaign {
  const { state, sentAt } = campaign;
  if (state !== 'settling' || sentAt === undefined) return campaign;
  const until = sentAt + Math.max(settleOf(campaign, wait.ramp), wait.horizonMs);
  return until === campaign.until ? campaign : { ...campaign, until };
}

/**
 * Ends a step: grows, halves, or halts. Changes nothing before the step is due, except when all its actions failed:
 * that result is final at once. Undecided results block the group for a limited time and then count as failed.
 */
export function judgeStep(campaign: Campaign, results: StepResults, ramp: Growth, now: number): Campaign {
  const { state, sentAt = now, until = now } = campaign;
  if (state !== 'settling') return campaign;
  const { verified, undecided } = results;
  const allFailed = results.failed > 0 && verified + undecided <= 0;
  if (now < until && !allFailed) return campaign;
  if (undecided > 0 && now < sentAt + LONGEST_WAIT_MS) return campaign;

  const failed = results.failed + undecided;
  const known = verified + failed;
  const next = { ...waitsForNothing(campaign), step: campaign.step + 1 };
  // All actions provably had no effect, so the step says nothing about the destination.
  if (known <= 0) return { ...next, state: 'ready', verifiedAt: campaign.verifiedAt };

  const recent = [...campaign.recent, ...spread(verified, failed)].slice(-RECENT);
  const counted = { ...next, recent, judged: next.judged + known, verified: next.verified + verified };
  const isGood = verified >= known * VERIFIED_FROM;
  const halting = reasonToHalt(campaign, { recent, failed, known, isGood }, ramp);
  if (halting !== undefined) return halt(counted, halting, { breakers: ramp.breaker ?? BREAKER_MS, now });
  if (!isGood) return { ...counted, state: 'ready', size: Math.max(1, Math.floor(campaign.size / 2)) };
  const earned = campaign.halts > 0 ? ramp.start * ramp.factor : Math.max(campaign.size, verified * ramp.factor);
  const size = Math.max(1, Math.min(ramp.max, Math.ceil(earned)));
  return { ...counted, state: 'ready', halts: 0, size, verifiedAt: now };
}

function reasonToHalt(
  { recent: before, halts, size }: Campaign,
  step: {
    readonly recent: readonly boolean[];
    readonly failed: number;
    readonly known: number;
    readonly isGood: boolean;
  },
  ramp: Growth,
): string | undefined {
  const { recent, failed, known, isGood } = step;
  if (!isGood && halts > 0) return `the probe failed: ${failed} of ${known}`;
  if (!isGood && size <= ramp.start) return `the canary failed: ${failed} of ${known}`;
  if (before.length < FIRST) {
    // The order within a step is unknown, so its failures count as the first ones.
    const early = before.filter((verified) => !verified).length + Math.min(failed, FIRST - before.length);
    if (early >= TOO_MANY_OF_THE_FIRST) return `${early} of the first ${FIRST} failed`;
  }
  const good = recent.filter(Boolean).length;
  if (recent.length < LEAST_RECENT || good >= recent.length * HALT_BELOW) return undefined;
  return `${good} of the last ${recent.length} succeeded`;
}

function halt(
  campaign: Campaign,
  reason: string,
  { breakers, now }: { readonly breakers: readonly number[]; readonly now: number },
): Campaign {
  const halts = campaign.halts + 1;
  const breaker = breakers[halts - 1];
  const halted = { ...campaign, halts, size: 1, haltedAt: now };
  // No time repairs what a deploy was to repair.
  if (campaign.deploy !== undefined) {
    return { ...halted, state: 'halted', reason: `not fixed by ${campaign.deploy.version}: ${reason}` };
  }
  if (breaker === undefined) {
    return { ...halted, state: 'audit', reason: `${halts} halts in a row, the last: ${reason}` };
  }
  return { ...halted, state: 'halted', until: now + breaker, reason };
}

/** Begins again for another deploy, with one canary: earlier results are about what was replaced. */
export function rearmed(campaign: Campaign, deploy: NonNullable<Campaign['deploy']>): Campaign {
  if (campaign.deploy?.id === deploy.id || campaign.state === 'settling') return campaign;
  return { ...waitsForNothing(campaign), state: 'ready', size: 1, recent: [], halts: 0, deploy };
}

/** Lets one canary go once the breaker's open time has passed. Results from before the halt no longer count. */
export function reopen(campaign: Campaign, now: number): Campaign {
  return isReopening(campaign, now) ? { ...waitsForNothing(campaign), state: 'ready', size: 1, recent: [] } : campaign;
}

/** Lifts a halt or the fallback to audit at an operator's command: one canary may go, and the halts count from 0. */
export function lift(campaign: Campaign): Campaign {
  if (campaign.state !== 'halted' && campaign.state !== 'audit') return campaign;
  return { ...waitsForNothing(campaign), state: 'ready', size: 1, recent: [], halts: 0 };
}

/**
 * Ends a campaign that has nothing left to do. A step that is out is judged first. A group that halted keeps its
 * campaign, because a new one would forget the breaker.
 */
export function drained(campaign: Campaign): Campaign {
  return campaign.state === 'ready' && campaign.halts === 0 ? { ...campaign, state: 'ended' } : campaign;
}

export function breaker({ state, halts }: Campaign): 'closed' | 'half-open' | 'open' {
  if (state === 'halted' || state === 'audit') return 'open';
  return halts > 0 ? 'half-open' : 'closed';
}

/** The two step sizes after this one, if every action is verified. */
export function nextSizes({ size, halts }: Campaign, ramp: Growth): readonly [number, number] {
  const grow = (from: number): number => Math.min(ramp.max, Math.ceil(from * ramp.factor));
  const first = halts > 0 ? grow(ramp.start) : grow(size);
  return [first, grow(first)];
}

/**
 * Milliseconds that the retries of a step may take with the service's default back-off, e^(2.5 n) seconds before the
 * n-th retry. If the number of retries is unknown, returns the maximum: the longest time that an undecided step may
 * block its group.
 */
export function retryHorizon(retries: number | undefined): number {
  if (retries === undefined) return LONGEST_WAIT_MS;
  let total = 0;
  for (let n = 1; n <= retries && total < LONGEST_WAIT_MS; n += 1) total += Math.exp(2.5 * n) * 1_000;
  return Math.min(LONGEST_WAIT_MS, Math.ceil(total));
}

/** Results of one step, with the failures spread evenly because their order is unknown. */
function spread(verified: number, failed: number): boolean[] {
  const all = verified + failed;
  return Array.from({ length: all }, (_, i) => Math.ceil(((i + 1) * failed) / all) === Math.ceil((i * failed) / all));
}

/** Copy without the fields that belong to one step or to one halt. */
function waitsForNothing(campaign: Campaign): Campaign {
  return {
    ...campaign,
    sentAt: undefined,
    until: undefined,
    settle: undefined,
    reason: undefined,
    verifiedAt: undefined,
  };
}
