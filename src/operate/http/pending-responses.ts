/**
 * Bound of the memory of responses that clients have not read yet. Above it, the oldest ones are closed: a client that
 * reads has its response within seconds.
 */
import type { ServerResponse } from 'node:http';

const MAX_BYTES = 67_108_864;

export class PendingResponses {
  readonly #maxBytes: number;
  /** Bytes of the responses in flight, oldest first. */
  readonly #pending = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Counts a response until it is closed, and makes room for it. */
  add(response: ServerResponse, bytes: number): void {
    if (response.destroyed) return;
    this.#pending.set(response, bytes);
    this.#bytes += bytes;
    response.once('close', () => this.#remove(response));
    for (const oldest of this.#pending.keys()) {
      if (this.#bytes <= this.#maxBytes || oldest === response) return;
      this.#remove(oldest);
      oldest.destroy();
    }
  }

  #remove(response: ServerResponse): void {
    this.#bytes -= this.#pending.get(response) ?? 0;
    this.#pending.delete(response);
  }
}
