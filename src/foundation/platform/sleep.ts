import type { Clock } from './clock.ts';

/** Resolves after `ms`. Rejects with the signal's reason if that is aborted first. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      timer.cancel();
      reject(signal.reason as Error);
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/**
 * Runs `work` with a signal that is aborted by `parent`, or after `ms` with a `TimeoutError`. The caller sees the
 * rejection of `work`. Work that ignores its signal is not abandoned.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  parent.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent.reason);
  parent.addEventListener('abort', onAbort, { once: true });
  using _timer = clock.after(ms, () => controller.abort(new TimeoutError(`no result within ${ms} ms`)));
  try {
    return await work(controller.signal);
  } finally {
    parent.removeEventListener('abort', onAbort);
  }
}

export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}
