/** Keeps the process alive during a wait that does not do so itself, since timers of a Clock do not. */
const LONGEST_TIMER_MS = 2_147_483_647;

export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_TIMER_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
