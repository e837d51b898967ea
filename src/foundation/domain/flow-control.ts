/** Live state of a flow-control key (interface 2.6). */
export interface FlowControlKey {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  /** Absent when no parallelism is set. */
  readonly parallelismMax?: number;
  readonly parallelismCount?: number;
  /** Absent when no rate is set. */
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

/** A key that is watched. */
export interface WatchedFlowControlKey extends FlowControlKey {
  /** It is watched because entries carry it; absent where it is configured. */
  readonly isDiscovered?: true;
}

/** What a publish or a resume may ask for: at least one of parallelism and rate. */
export interface FlowControlSpec {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Seconds. */
  readonly period?: number;
}
