/** The engine at one moment beside its policies, as the metrics show it. Times are epoch milliseconds. */
export interface EngineReadings {
  /** Acts of which nobody knows yet what they did. */
  readonly unknownOutcomes: number;
  /** When the oldest act was begun whose last word is not spoken; absent when there is none. */
  readonly oldestIntentAt?: number;
  /** Plans that wait for a person. */
  readonly approvals: readonly { readonly account: string; readonly policy: string; readonly since: number }[];
  /** What the sliding windows still allow. */
  readonly caps: readonly {
    /** `engine`, `engine deletes`, `account/NAME`, `policy/NAME`. */
    readonly scope: string;
    readonly window: string;
    readonly remaining: number;
  }[];
  /** `engine`, and `policy/NAME` of each policy. */
  readonly paused: ReadonlyMap<string, boolean>;
  /** This process is the store's one executor. */
  readonly isLeader: boolean;
}
