/**
 * Large bodies in parts that many responses share. They are sent no faster than clients read them, so that a response
 * has references and no copy. Responses that are too slow, or that keep too many old bodies in memory, are closed.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '#foundation/platform/clock.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';

export interface SharedBody {
  /** Read-only. */
  readonly parts: readonly Uint8Array[];
  /** Gzipped parts, made once for all responses. */
  gzip(): Promise<readonly Uint8Array[]>;
}

/** Time limit: no scraper waits longer than a minute. */
const LONGEST_MS = 60_000;

/** Maximum memory of all bodies in use. Above it, the responses of the oldest body are closed. */
const MAX_BYTES = 134_217_728;

/** Maximum bytes in one turn of the event loop. */
const TURN_BYTES = 524_288;

export class SharedBodies {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  /** Bodies of responses in flight, oldest first. */
  readonly #underWay = new Map<
    readonly Uint8Array[],
    { readonly bytes: number; readonly answers: Set<ServerResponse> }
  >();

  constructor(clock: Clock, maxBytes = MAX_BYTES) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  /**
   * Writes the body of a response after its head. Resolves when all of it is handed over, or the response is closed.
   */
  async write(response: ServerResponse, parts: readonly Uint8Array[]): Promise<void> {
    this.#begin(response, parts);
    using _limit = this.#clock.after(LONGEST_MS, () => response.destroy());
    try {
      let at = 0;
      while (at < parts.length) {
        if (response.destroyed) return;
        // Corked parts are one system call.
        response.cork();
        let room = true;
        for (let bytes = 0; at < parts.length && bytes < TURN_BYTES; at++) {
          bytes += parts[at]!.length;
          room = response.write(parts[at]!);
        }
        response.uncork();
        // If the system took the data at once, `drain` fires in this same turn, so waiting for it would never end.
        if (!room) await either(response, 'drain');
        await nextTurn();
      }
      response.end();
      if (!response.destroyed && !response.writableFinished) await either(response, 'finish');
    } finally {
      this.#end(response, parts);
    }
  }

  #begin(response: ServerResponse, parts: readonly Uint8Array[]): void {
    const known = this.#underWay.get(parts);
    if (known !== undefined) {
      known.answers.add(response);
      return;
    }
    this.#underWay.set(parts, { bytes: byteLength(parts), answers: new Set([response]) });
    let bytes = this.#underWay.values().reduce((sum, body) => sum + body.bytes, 0);
    for (const [oldest, body] of this.#underWay) {
      if (bytes <= this.#maxBytes || oldest === parts) return;
      bytes -= body.bytes;
      this.#underWay.delete(oldest);
      for (const answer of body.answers) answer.destroy();
    }
  }

  #end(response: ServerResponse, parts: readonly Uint8Array[]): void {
    const body = this.#underWay.get(parts);
    body?.answers.delete(response);
    if (body?.answers.size === 0) this.#underWay.delete(parts);
  }
}

export function byteLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** Resolves at the event, or when the client has disconnected. */
function either(response: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off(event, done);
      response.off('close', done);
      resolve();
    };
    response.on(event, done);
    response.on('close', done);
  });
}
