/** Function at load, like the timers of the clock: tests replace the global one. */
const { setImmediate } = globalThis;

/** Resolves in the next turn of the event loop, so that other work runs in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
