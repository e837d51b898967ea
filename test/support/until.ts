/** Awaits a fact by asking for it again and again, for tests that watch another process. */

export interface UntilOptions {
  /** What is awaited, for the error. */
  readonly what: string;
  readonly timeoutMs?: number;
}

/** The first value of `probe` that is neither undefined nor false; an error of the last try becomes the cause. */
export async function until<T>(
  options: UntilOptions,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + (options.timeoutMs ?? 20_000);
  let last: unknown;
  do {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  } while (performance.now() < deadline);
  throw new Error(`did not come true in time: ${options.what}`, { cause: last });
}
