/**
 * Port of the store for requests of the service that reached another replica than the one that works on the canary's
 * account. That replica stores them, and the other one applies them.
 */
import type { CanaryFacts } from './facts.ts';
import type { CanaryPlace } from './message.ts';

/**
 * Content of a relayed request. `answered`: the sender of the message `of` has the response, `answerMs` after its request.
 * This fact may be stored later than that.
 */
export type RelayedFact =
  | { readonly kind: 'message'; readonly nonce: string; readonly altered: boolean }
  | { readonly kind: 'answered'; readonly nonce: string; readonly of: number; readonly answerMs: number }
  | { readonly kind: 'callback'; readonly nonce: string; readonly status?: number; readonly messageId?: string }
  | { readonly kind: 'probe'; readonly nonce: string }
  | { readonly kind: 'rejection'; readonly rejection: CanaryFacts['rejections'][number] };

export interface Relayed {
  readonly id: number;
  /** Milliseconds since the arrival, on the clock of the database. */
  readonly agoMs: number;
  readonly fact: RelayedFact;
}

export interface CanaryRelay {
  /** Returns the size of a message of a canary; undefined if the nonce is unknown. */
  sizeOf(place: CanaryPlace, nonce: string): Promise<number | undefined>;
  /** Stores what arrived, durably. @returns its id */
  put(place: CanaryPlace, fact: RelayedFact): Promise<number>;
  /** Returns what arrived for a canary, oldest first. */
  read(place: CanaryPlace): Promise<readonly Relayed[]>;
  /**
   * Deletes what was applied. Fails at a replica that has lost the account: it does not know the newest messages.
   * `CanaryChange` deletes a message or callback together with its change.
   */
  delete(place: CanaryPlace, ids: readonly number[]): Promise<void>;
}
