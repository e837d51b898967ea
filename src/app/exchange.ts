import type { HeldCommands } from './commands.ts';
import type { Generation } from './generation.ts';

/** Parts that end before the next generation starts. */
export type Ending = Pick<Generation, 'stop' | 'idle' | 'release'> & {
  readonly accounts: Pick<Generation['accounts'], 'closed'>;
};

/**
 * Ends a generation before the next one. Two engines never act at the same time: this waits for all running work,
 * however long it takes. Read data and counts are still served.
 *
 * @param signal ends the wait; no other generation must start then
 */
export async function endGeneration(old: Ending, commands: HeldCommands, signal: AbortSignal): Promise<void> {
  await old.stop();
  await untilAborted(signal, Promise.all([commands.ended, old.idle()]));
  if (signal.aborted) return;
  await old.release();
  // Requests that were reserved in advance are released after the connections are closed.
  await old.accounts.closed();
}

async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const { promise: stopped, resolve: onAbort } = Promise.withResolvers<void>();
  const listener = (): void => onAbort();
  signal.addEventListener('abort', listener);
  await Promise.race([work, stopped]).finally(() => signal.removeEventListener('abort', listener));
}
