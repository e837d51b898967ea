/** Several reads that make one batch: all of them, or none. */
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { Answer } from '#service/api.ts';

/**
 * Runs the reads at the same time; the client's own limits say how many really are. When one fails the others are
 * aborted and waited for, so that nothing goes on behind the caller's back, and the first failure is thrown.
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
  const settled = await Promise.allSettled(guarded);
  signal.throwIfAborted();
  if (siblings.signal.aborted) throw siblings.signal.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<T>).value);
}

/**
 * One read for each key; one that is named twice is read once, or its figures would be added up. What the service does
 * not know (404), or `read` has nothing of, is left out and counted, so that one name spelt wrong does not blind the rest;
 * any other failure fails them all.
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
  const rows: T[] = [];
  let dropped = 0;
  for (const answer of answers) {
    if (answer === undefined) {
      dropped += 1;
      continue;
    }
    rows.push(answer.value);
    dropped += answer.dropped;
  }
  return { rows, dropped };
}
