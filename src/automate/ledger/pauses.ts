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

/** Start of the scope of a record that the kill switch file exists. No command lifts it: the file itself pauses. */
export const KILL_SWITCH = 'kill_switch';

/** @param replica name of the replica whose file exists; absent if the store has one process */
export function killSwitchScope(replica?: string): string {
  return replica === undefined ? KILL_SWITCH : `${KILL_SWITCH}/${replica}`;
}

/** Storage of pauses. */
export interface Pauses {
  /** Pauses a scope durably. An existing pause keeps its reason. */
  pause(pause: Pause): Promise<void>;
  /** Returns the active pauses, without the kill switch. */
  pauses(): Promise<readonly Pause[]>;
  /** Lifts the pause of a scope, or all pauses except the kill switch; the reason is recorded. @returns the number of lifted pauses */
  unpause(lifted: {
    readonly scope?: string;
    readonly at: number;
    readonly reason: string;
    readonly by: string;
  }): Promise<number>;
}
