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

/** Flow control of a publish or resume: at least one of parallelism and rate. */
export interface FlowControlSpec {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Seconds. */
  readonly period?: number;
}
