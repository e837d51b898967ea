import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { sleep } from '#foundation/platform/sleep.ts';

interface RepeatOptions {
  readonly clock: Clock;
  /** Pause between two runs. */
  readonly everyMs: number;
  /** Called when runs begin to fail for this reason. */
  readonly onProblem: (message: string) => void;
}

export interface Repetition extends AsyncDisposable {
  /** Ends the present pause. */
  soon(): void;
}

/** Repeats work until disposal, which waits for the run in progress. A failed run is repeated like any other. */
export function repeat(
  { clock, everyMs, onProblem }: RepeatOptions,
  work: (signal: AbortSignal) => Promise<void>,
): Repetition {
  const ending = new AbortController();
  const { signal } = ending;
  let waking = new AbortController();
  let problem: string | undefined;

  async function loop(): Promise<void> {
    while (!signal.aborted) {
      // A wish during the run is met by another run.
      waking = new AbortController();
      try {
        await work(signal);
        problem = undefined;
      } catch (error) {
        const message = errorMessage(error);
        if (message !== problem && !signal.aborted) onProblem(message);
        problem = message;
      }
      await sleep(clock, everyMs, AbortSignal.any([signal, waking.signal])).catch(() => undefined);
    }
  }

  const looping = loop();
  return {
    soon: () => waking.abort(),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await looping;
    },
  };
}
