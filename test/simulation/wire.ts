/** Latencies of the network, and observers of what it carries. */
import { presentLoop, type Loop, type Process } from './loop.ts';

/** @param head request line and headers @param isFirst true for the first request of a connection */
type Observer = (owner: Process, head: string, isFirst: boolean) => void;

const observers = new WeakMap<Loop, Observer>();

/** Calls back for each request to the service, when its process sends it. */
export function onRequest(loop: Loop, observer: Observer): void {
  observers.set(loop, observer);
}

export function observe(...[owner, head, isFirst]: Parameters<Observer>): void {
  observers.get(presentLoop())?.(owner, head, isFirst);
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
