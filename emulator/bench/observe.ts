/**
 * Loaded into a process before its program. It reports to the parent on request: the time of each HTTP request from its
 * head to the end of its response, the work of its thread in that time, and the pauses of the garbage collector. Work
 * does not grow with the load of the machine, if requests run one at a time.
 */
import { subscribe } from 'node:diagnostics_channel';
import { PerformanceObserver } from 'node:perf_hooks';

export interface Observed {
  /** Milliseconds of each request since the last question, in the order of their responses. */
  readonly requestMs: readonly number[];
  /** Milliseconds that the main thread worked for each of them. */
  readonly cpuMs: readonly number[];
  /** Milliseconds of each pause since then. */
  readonly pauseMs: readonly number[];
}

interface HttpEvent {
  readonly request: object;
}

let requestMs: number[] = [];
let cpuMs: number[] = [];
let pauseMs: number[] = [];
const began = new WeakMap<object, { readonly at: number; readonly cpu: number }>();

function worked(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

subscribe('http.server.request.start', (event) =>
  began.set((event as HttpEvent).request, { at: performance.now(), cpu: worked() }),
);
subscribe('http.server.response.finish', (event) => {
  const start = began.get((event as HttpEvent).request);
  if (start === undefined) return;
  requestMs.push(performance.now() - start.at);
  cpuMs.push(worked() - start.cpu);
});
new PerformanceObserver((list) => pauseMs.push(...list.getEntries().map((entry) => entry.duration))).observe({
  entryTypes: ['gc'],
});

process.on('message', () => {
  // Waits for the end of the response that the parent has just read, and for pauses that are reported late.
  setImmediate(() => {
    const observed: Observed = { requestMs, cpuMs, pauseMs };
    requestMs = [];
    cpuMs = [];
    pauseMs = [];
    process.send!(observed);
  });
});
// The channel alone does not keep the program alive.
process.channel!.unref();
