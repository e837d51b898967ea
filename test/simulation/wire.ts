/** Latencies of the network, and observers of what it carries. */
import { presentLoop, type Loop, type Process } from './loop.ts';
import type { Forbidden } from './subject.ts';

interface Observer {
  /** Returns why the process must not send a request to the service; undefined if it may. */
  forbids(owner: Process): Forbidden | undefined;
  /**
   * Called for each request to the service, when its process sends it.
   *
   * @param head request line and headers
   * @param forbidden why it must not; for the first request of a connection, why it must not connect
   */
  sees(owner: Process, head: string, forbidden: Forbidden | undefined): void;
}

const observers = new WeakMap<Loop, Observer>();

export function observeWith(loop: Loop, observer: Observer): void {
  observers.set(loop, observer);
}

export function observer(): Observer | undefined {
  return observers.get(presentLoop());
}

let latencySource: { readonly loop: Loop; readonly next: () => number } | undefined;

/** Returns milliseconds. */
export function latency(): number {
  const loop = presentLoop();
  if (latencySource?.loop !== loop) latencySource = { loop, next: loop.random('latency') };
  return 0.2 + 20 * latencySource.next() ** 4;
}

/** Returns the first line of a request or response of HTTP. */
export function firstLine(bytes: Buffer): string {
  const end = bytes.indexOf('\r\n');
  return bytes.toString('latin1', 0, end < 0 ? 0 : Math.min(end, 300));
}
