/** Current state of a flow-control key (interface 2.6). */
export interface FlowControlKey {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  /** Absent if no parallelism is set. */
  readonly parallelismMax?: number;
  readonly parallelismCount?: number;
  /** Absent if no rate is set. */
  readonly rateMax?: number;
  readonly rateCount?: number;
  /** Seconds. */
  readonly ratePeriod?: number;
  /** Epoch milliseconds. */
  readonly ratePeriodStart?: number;
  readonly isPinnedParallelism?: boolean;
  readonly isPinnedRate?: boolean;
  readonly isPaused?: boolean;
}

/** Key that the daemon watches. */
export interface WatchedFlowControlKey extends FlowControlKey {
  /** True if the key was discovered in entries; absent if it is configured. */
  readonly isDiscovered?: true;
}

/** Constraint that keeps messages waiting. `other`: no visible limit, or a different one at each reading. */
export const CONSTRAINTS = ['parallelism', 'rate', 'paused', 'other'] as const;
export type Constraint = (typeof CONSTRAINTS)[number];

/**
 * Returns the constraint that keeps a key's messages waiting. A pause precedes the limits, since it applies regardless
 * of them.
 */
export function constraintOf(key: FlowControlKey): Constraint | undefined {
  const { waitListSize, isPaused, parallelismMax, parallelismCount = 0, rateMax, rateCount = 0 } = key;
  if (waitListSize === 0) return undefined;
  if (isPaused === true) return 'paused';
  if (parallelismMax !== undefined && parallelismCount >= parallelismMax) return 'parallelism';
  if (rateMax !== undefined && rateCount >= rateMax) return 'rate';
  return 'other';
}

/** Flow control of a publish or resume: at least one of parallelism and rate. */
export interface FlowControlSpec {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Seconds. */
  readonly period?: number;
}
