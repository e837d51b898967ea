/** Pauses of the engine, of policies and of groups. */

/** Pause of the engine, a policy or a group, set by the daemon or an operator. It lasts until an operator lifts it. */
export interface Pause {
  /** `engine`, `policy/NAME`, or `group/POLICY/GROUP`. */
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
  /** `engine`, or the name of the operator. */
  readonly by: string;
}

/** Storage of pauses. */
export interface Pauses {
  /** Pauses a scope durably. An existing pause keeps its reason. */
  pause(pause: Pause): Promise<void>;
  pauses(): Promise<readonly Pause[]>;
  /** Lifts the pause of a scope, or all pauses; the reason is recorded. @returns the number of lifted pauses */
  unpause(lifted: {
    readonly scope?: string;
    readonly at: number;
    readonly reason: string;
    readonly by: string;
  }): Promise<number>;
}
