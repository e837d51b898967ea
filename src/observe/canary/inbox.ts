/**
 * Requests of the service to the hooks listener about canaries. A request counts only with a code of the store's key
 * for this canary and for a message that is known.
 */
import type { CanaryBook } from './book.ts';
import type { Facts } from './facts.ts';
import { bodyOf, readCode, type CanaryPlace } from './message.ts';
import type { Round } from './round.ts';

/** Maximum number of remembered ids of callbacks and of answered probes. */
const MOST_REMEMBERED = 1_000;
const MOST_REJECTIONS = 20;

/** Request that a code authenticates. */
export type Recognized =
  | {
      readonly kind: 'message';
      /** Body that was published. */
      readonly body: Buffer;
      /** Records the arrival durably. @returns a function to call once the sender has the response */
      take(arrival: { readonly altered: boolean }): Promise<() => void>;
    }
  | {
      readonly kind: 'callback';
      /** Records the callback durably. */
      take(callback: { readonly status?: number; readonly messageId?: string }): Promise<void>;
    }
  | { readonly kind: 'probe'; take(): void };

export class CanaryInbox {
  readonly #book: CanaryBook;
  readonly #probes = new Set<string>();
  readonly #callbacks = new Set<string>();

  constructor(book: CanaryBook) {
    this.#book = book;
  }

  /** Returns the request that a code authenticates; undefined if the code is missing, forged, or of an old message. */
  recognize(place: CanaryPlace, code: string | undefined): Recognized | undefined {
    const read = readCode(this.#book.key, code, place);
    if (read === undefined) return undefined;
    const { purpose, nonce } = read;
    if (purpose === 'probe') return { kind: 'probe', take: () => remember(this.#probes, nonce) };
    const round = this.#book.find(nonce);
    if (round === undefined) return undefined;
    return purpose === 'message' ? this.#message(round) : this.#callback(round);
  }

  /** Records a rejected request, which may have been a message in flight. */
  rejected(place: CanaryPlace, rejection: Facts['rejections'][number]): void {
    for (const round of this.#book.rounds(place)) {
      if (round.isEnded || round.rejections.length >= MOST_REJECTIONS) continue;
      round.rejections.push(rejection);
      round.changed();
    }
  }

  /** Returns true if the probe with this nonce has arrived. */
  hasProbe(nonce: string): boolean {
    return this.#probes.has(nonce);
  }

  /** Returns true if a callback with this id of its own has arrived. */
  hasCallback(messageId: string): boolean {
    return this.#callbacks.has(messageId);
  }

  #message(round: Round): Recognized {
    const { nonce, bytes } = round.record;
    return {
      kind: 'message',
      body: bodyOf(nonce, bytes),
      take: async (arrival) => {
        round.storing += 1;
        try {
          return await this.#book.arrived(round, arrival);
        } finally {
          round.storing -= 1;
        }
      },
    };
  }

  #callback(round: Round): Recognized {
    return {
      kind: 'callback',
      take: async ({ status, messageId }) => {
        await this.#book.called(round, status);
        if (messageId !== undefined) remember(this.#callbacks, messageId);
      },
    };
  }
}

function remember(known: Set<string>, id: string): void {
  known.add(id);
  for (const oldest of known) {
    if (known.size <= MOST_REMEMBERED) break;
    known.delete(oldest);
  }
}
