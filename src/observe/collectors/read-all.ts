/** Combines several reads into one batch: all of them, or none. */
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { Answer } from '#service/api.ts';

/**
 * Runs the reads in parallel; the client's own limits bound the actual number. If one fails, the others are aborted and
 * awaited, so that none continues in the background. The first failure is thrown.
 */
export async function readAll<T>(
  signal: AbortSignal,
  reads: readonly ((signal: AbortSignal) => Promise<T>)[],
): Promise<T[]> {
  const siblings = new AbortController();
  const joined = AbortSignal.any([signal, siblings.signal]);
  const guarded = reads.map(async (read) => {
    try {
      return await read(joined);
    } catch (error) {
      siblings.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(guarded);
  signal.throwIfAborted();
  if (siblings.signal.aborted) throw siblings.signal.reason;
  return Promise.all(guarded);
}

/**
 * Reads each distinct key once; a duplicate would be counted twice. Keys that the service does not know (404) or that
 * `read` returns nothing for are dropped and counted. One misspelled name must not prevent the reading of the others.
 * Any other failure fails all reads.
 */
export async function readEach<T>(
  signal: AbortSignal,
  keys: readonly string[],
  read: (key: string, signal: AbortSignal) => Promise<Answer<T> | undefined>,
): Promise<{ readonly rows: readonly T[]; readonly dropped: number }> {
  const answers = await readAll(
    signal,
    [...new Set(keys)].map((key) => async (joined: AbortSignal) => {
      try {
        return await read(key, joined);
      } catch (error) {
        if (serviceErrorCode(error) === 'not_found') return undefined;
        throw error;
      }
    }),
  );
  const known = answers.filter((answer) => answer !== undefined);
  const dropped = known.reduce((sum, answer) => sum + answer.dropped, answers.length - known.length);
  return { rows: known.map(({ value }) => value), dropped };
}
