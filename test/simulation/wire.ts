/** Latencies of the network, its load balancer, and observers of what it carries. */
import { presentLoop, type Loop, type Process } from './loop.ts';
import type { Forbidden } from './subject.ts';

/** Moment at which a process decides to send a request. */
export interface Beginning {
  /** Accounts that it must not be about. */
  readonly forbidden: readonly Forbidden[];
  /** Time of the history. */
  readonly at: number;
}

interface Observer {
  /** Returns the accounts about which the process must not send a request to the service. */
  forbids(owner: Process): readonly Forbidden[];
  /**
   * Called for each request of the daemon to the service, when its process sends it.
   *
   * @param head request line and headers
   * @param begun for the first request of a connection, when its process connected
   */
  sees(owner: Process, head: string, begun: Beginning): void;
  /** Called for each notification, when its process sends it. */
  notifies(text: string, begun: Beginning): void;
}

const observers = new WeakMap<Loop, Observer>();

export function observeWith(loop: Loop, observer: Observer): void {
  observers.set(loop, observer);
}

export function observer(): Observer | undefined {
  return observers.get(presentLoop());
}

export function beginning(owner: Process): Beginning {
  return { forbidden: observer()?.forbids(owner) ?? [], at: presentLoop().time };
}

/** Port of the hooks of the daemon, or of the balancer before its replicas. */
export const HOOKS_PORT = 8_090;

const balancers = new WeakMap<Loop, () => number>();

/** Sets the port that gets the next connection to the hooks of the daemon. */
export function balance(loop: Loop, port: () => number): void {
  balancers.set(loop, port);
}

export function balanced(port: number): number {
  return (port === HOOKS_PORT ? balancers.get(presentLoop())?.() : undefined) ?? port;
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
