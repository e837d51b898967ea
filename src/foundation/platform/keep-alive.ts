/** Keeps the process from ending while something is waited for that does not keep it itself: timers of a Clock do not. */
const LONGEST_TIMER_MS = 2_147_483_647;

export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_TIMER_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
