/**
 * Objection of a guard to a run, a group or a request. The guard itself says what it measured, what it needs, and what
 * helps. Every view shows the text of `holdText`.
 */

export const TRENDS = ['improving', 'steady', 'worsening'] as const;

export interface Hold {
  /** Measured value, as a clause: `billing.example delivered 0 of 279 attempts in the last 15 minutes`. */
  readonly measured: string;
  /** Needed value, as a clause: `resumes begin at 90 %`. */
  readonly needed: string;
  /** Operator's next step, as a clause: `repair the destination`. */
  readonly remedy: string;
  /** Milliseconds that were measured; absent for a state. */
  readonly windowMs?: number;
  /** Direction of the measured value within the window; absent if unknown. */
  readonly trend?: (typeof TRENDS)[number];
  /** Epoch milliseconds since when the reason exists; absent if the guard does not know. */
  readonly since?: number;
  /** Earliest end in epoch milliseconds; absent if unknown. */
  readonly until?: number;
}

/** Returns the text of a hold, without its guard. */
export function holdText({ measured, needed, remedy, trend, until }: Hold): string {
  const found = trend === undefined ? measured : `${measured}, ${trend}`;
  const end = until === undefined || !Number.isFinite(until) ? [] : [`earliest end ${isoTime(until)}`];
  return [found, needed, ...end, remedy].join('; ');
}

/** Returns a time without empty milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}
