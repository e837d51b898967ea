/** Waits for a condition by polling, for tests that observe another process. */

/** A limit on hanging, not on time: a busy machine is no failure. */
const HANGS_MS = 600_000;
/** Maximum pause between two tries, in milliseconds. */
const LONGEST_PAUSE_MS = 250;

export interface UntilOptions {
  /** Name of the condition, for the error. */
  readonly what: string;
  /** Pause between two tries, for a costly probe of facts that change no faster. Default: short, and grows with the wait. */
  readonly pauseMs?: number;
}

/**
 * Returns the first value of `probe` that is neither undefined nor false. The error of the last try becomes the cause.
 */
export async function until<T>(
  options: UntilOptions,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const start = performance.now();
  const deadline = start + HANGS_MS;
  let last: unknown;
  do {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    // The pause grows with the wait, because a probe may cost as much as the work that it waits for.
    const pause = options.pauseMs ?? Math.min(LONGEST_PAUSE_MS, 25 + (performance.now() - start) / 20);
    await new Promise((resolve) => setTimeout(resolve, pause));
  } while (performance.now() < deadline);
  throw new Error(`did not come true in time: ${options.what}`, { cause: last });
}
