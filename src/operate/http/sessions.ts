/** Sessions of browsers, in memory: a restart ends them. Their number is bounded. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';

export const SESSION_MS = 12 * 3_600_000;
/** Maximum numbers of sessions. Beyond them, the oldest one ends: of the same name first. */
const MOST = { ofName: 20, all: 500 };

interface Session<Entrant> {
  readonly entrant: Entrant;
  readonly endsAt: number;
}

/** @typeParam Entrant identity that a session proves */
export class Sessions<Entrant extends { readonly by: string }> {
  readonly #clock: Clock;
  /** By the hash of the cookie, oldest first: a copy of the memory reveals no cookie. */
  readonly #sessions = new Map<string, Session<Entrant>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session. @returns the value of its cookie */
  begin(entrant: Entrant): string {
    for (const [id, { endsAt }] of this.#sessions) if (endsAt <= this.#clock.monotonic()) this.#sessions.delete(id);
    const own = [...this.#sessions].filter(([, session]) => session.entrant.by === entrant.by);
    if (own.length >= MOST.ofName) this.#sessions.delete(own[0]![0]);
    if (this.#sessions.size >= MOST.all) this.#sessions.delete(this.#sessions.keys().next().value!);
    const cookie = randomBytes(32).toString('base64url');
    this.#sessions.set(idOf(cookie), { entrant, endsAt: this.#clock.monotonic() + SESSION_MS });
    return cookie;
  }

  find(cookie: string): { readonly id: string; readonly entrant: Entrant } | undefined {
    const id = idOf(cookie);
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    if (session.endsAt > this.#clock.monotonic()) return { id, entrant: session.entrant };
    this.#sessions.delete(id);
    return undefined;
  }

  end(id: string): void {
    this.#sessions.delete(id);
  }
}

function idOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url');
}
