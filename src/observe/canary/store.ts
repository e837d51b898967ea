/** Port of the store of canaries. */
import type { CanaryVerdictReason, CanarySize } from '#foundation/domain/canary.ts';
import type { KeptFacts } from './facts.ts';
import type { CanaryPlace } from './message.ts';

/** One message, as stored. Times are milliseconds since `startedAt`, except `startedAt` itself. */
export interface RoundRecord extends KeptFacts, CanaryPlace {
  readonly id: string;
  readonly nonce: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly isWarmUp: boolean;
  readonly loggedMs?: number;
  readonly deliveredMs?: number;
  readonly result?: CanaryVerdictReason & { readonly afterMs: number };
  /** True once the message is counted as lost, or cannot be lost. */
  readonly isSettled?: boolean;
}

/** State of a canary, as stored. Times are epoch milliseconds. */
export interface StateRecord extends CanaryPlace, CanaryVerdictReason {
  readonly since: number;
  readonly lastSuccessAt?: number;
  /** Last result by size. */
  readonly last: { readonly [S in CanarySize]?: CanaryVerdictReason };
}

/** Change of the store, applied as a whole. */
interface CanaryChange {
  readonly rounds: readonly RoundRecord[];
  readonly state?: StateRecord;
  /** Ids of rounds to delete. */
  readonly forget?: readonly string[];
  /** Id of the relayed request that this change applies, which is deleted. */
  readonly relayed?: number | undefined;
}

export interface CanaryStore {
  /**
   * Returns the key of the codes. The first call stores `proposed`, which must be random; every later one returns that
   * key.
   */
  key(proposed: string): Promise<string>;
  load(): Promise<{ readonly rounds: readonly RoundRecord[]; readonly states: readonly StateRecord[] }>;
  /** Stores a change durably. */
  save(change: CanaryChange): Promise<void>;
}
