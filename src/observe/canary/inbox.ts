/**
 * Requests of the service to the hooks listener about canaries. A request counts only with a code of the store's key
 * for this canary and for a message that is known. Requests to canaries of other replicas are relayed.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { CanaryBook } from './book.ts';
import type { CanaryFacts } from './facts.ts';
import { bodyOf, readCode, type CanaryPlace } from './message.ts';
import type { CanaryRelay, Relayed } from './relay.ts';
import type { Round } from './round.ts';

/** Maximum number of remembered ids of callbacks and of answered probes. */
const MOST_REMEMBERED = 1_000;
const MOST_REJECTIONS = 20;
/** Minimum time between two relayed rejections of one canary for one reason. */
const RELAY_EVERY_MS = 1_000;

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
  | { readonly kind: 'probe'; take(): void | Promise<void> };

/** Place of an inbox among those of several replicas. */
export interface InboxShare {
  readonly relay: CanaryRelay;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Returns true if this replica works on the account. */
  isOwn(account: string): boolean;
  /** Reports that a rejection could not be relayed. */
  readonly onFailed: (error: unknown) => void;
}

export class CanaryInbox {
  readonly #book: CanaryBook;
  readonly #probes = new Set<string>();
  readonly #callbacks = new Set<string>();
  readonly #share: InboxShare | undefined;
  readonly #received = new OneByOne();
  /** Monotonic times of the last relayed rejections, by canary and reason. */
  readonly #relayedAt = new Map<string, number>();

  /** @param share absent if the process is the only one on its store */
  constructor(book: CanaryBook, share?: InboxShare) {
    this.#book = book;
    this.#share = share;
  }

  /** True if requests can reach another replica. */
  get isShared(): boolean {
    return this.#share !== undefined;
  }

  /** Returns the request that a code authenticates, also to a canary of another replica; undefined as `recognize`. */
  async find(place: CanaryPlace, code: string): Promise<Recognized | undefined> {
    const share = this.#shareOf(place);
    if (share === undefined) return this.recognize(place, code);
    const read = readCode(this.#book.key, code, place);
    if (read === undefined) return undefined;
    const { purpose, nonce } = read;
    const { relay, clock } = share;
    if (purpose === 'probe') {
      return { kind: 'probe', take: async () => void (await relay.put(place, { kind: 'probe', nonce })) };
    }
    const bytes = await relay.sizeOf(place, nonce);
    if (bytes === undefined) return undefined;
    if (purpose === 'callback') {
      return {
        kind: 'callback',
        take: async (known) => void (await relay.put(place, { kind: 'callback', nonce, ...known })),
      };
    }
    return {
      kind: 'message',
      body: bodyOf(nonce, bytes),
      async take({ altered }) {
        const begun = clock.monotonic();
        const of = await relay.put(place, { kind: 'message', nonce, altered });
        return () => {
          const answerMs = clock.monotonic() - begun;
          void relay.put(place, { kind: 'answered', nonce, of, answerMs }).catch(share.onFailed);
        };
      },
    };
  }

  /** Applies what other replicas received for a canary of this one. */
  async receive(place: CanaryPlace): Promise<void> {
    const relay = this.#share?.relay;
    if (relay === undefined) return;
    await this.#received.run(async () => {
      const applied: number[] = [];
      for (const relayed of await relay.read(place)) {
        if (!(await this.#apply(place, relayed))) applied.push(relayed.id);
      }
      await relay.delete(place, applied);
    });
  }

  /** @returns true if the change deleted the relayed request */
  async #apply(place: CanaryPlace, { fact, ...past }: Relayed): Promise<boolean> {
    if (fact.kind === 'rejection') this.rejected(place, fact.rejection);
    if (fact.kind === 'probe') remember(this.#probes, fact.nonce);
    const round = 'nonce' in fact ? this.#book.find(fact.nonce) : undefined;
    if (round === undefined) return false;
    if (fact.kind === 'answered') this.#book.answered(round, fact);
    if (fact.kind === 'callback' && fact.messageId !== undefined) remember(this.#callbacks, fact.messageId);
    if (fact.kind === 'callback' && round.record.callback === undefined) {
      await this.#book.called(round, fact.status, past);
      return true;
    }
    if (fact.kind !== 'message') return false;
    await this.#book.arrived(round, fact, past);
    return true;
  }

  #shareOf({ account }: CanaryPlace): InboxShare | undefined {
    return this.#share?.isOwn(account) === false ? this.#share : undefined;
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
  rejected(place: CanaryPlace, rejection: CanaryFacts['rejections'][number]): void {
    const share = this.#shareOf(place);
    if (share !== undefined) return this.#relayRejection(place, rejection, share);
    for (const round of this.#book.rounds(place)) {
      if (round.isEnded || round.rejections.length >= MOST_REJECTIONS) continue;
      round.rejections.push(rejection);
      round.changed();
    }
  }

  /** Anyone can send requests without a valid code: few of them are stored. */
  #relayRejection(place: CanaryPlace, rejection: CanaryFacts['rejections'][number], share: InboxShare): void {
    const key = JSON.stringify([place.account, place.canary, rejection.reason]);
    const now = share.clock.monotonic();
    if (now - (this.#relayedAt.get(key) ?? -Infinity) < RELAY_EVERY_MS) return;
    this.#relayedAt.set(key, now);
    void share.relay.put(place, { kind: 'rejection', rejection }).catch(share.onFailed);
  }

  /** Returns true if the probe with this nonce has arrived, here or at another replica. */
  async hasProbe(place: CanaryPlace, nonce: string): Promise<boolean> {
    if (!this.#probes.has(nonce)) await this.receive(place);
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
