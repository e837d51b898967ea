/** Pauses of the engine, of policies and of groups. */

/** A pause that the daemon or a person put on the engine or a policy. It stands until a person lifts it. */
export interface Pause {
  /** `engine`, `policy/NAME`, or `group/POLICY/GROUP`. */
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
  /** `engine`, or who asked for it. */
  readonly by: string;
}

/** Keeps the pauses. */
export interface Pauses {
  /** Durable. Where a pause stands already, its reason stays. */
  pause(pause: Pause): void;
  pauses(): readonly Pause[];
  /** Lifts the pause of a scope, or every one; the reason is kept. @returns how many */
  unpause(lifted: {
    readonly scope?: string;
    readonly at: number;
    readonly reason: string;
    readonly by: string;
  }): number;
}
