import type { HeldCommands } from './commands.ts';
import type { Generation } from './generation.ts';

/** What ends before another generation begins. */
export type Ending = Pick<Generation, 'stop' | 'idle' | 'release'> & {
  readonly accounts: Pick<Generation['accounts'], 'closed'>;
};

/**
 * Ends a generation for the one that follows it. Two engines never act at the same time: whatever still runs is waited
 * for, however long that takes. What was read and counted is still served.
 *
 * @param signal ends the wait; no other generation may begin then
 */
export async function endGeneration(old: Ending, commands: HeldCommands, signal: AbortSignal): Promise<void> {
  await old.stop();
  await untilAborted(signal, Promise.all([commands.ended, old.idle()]));
  if (signal.aborted) return;
  await old.release();
  // Requests that were counted ahead are given back once the connections are closed.
  await old.accounts.closed();
}

async function untilAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const { promise: stopped, resolve: onAbort } = Promise.withResolvers<void>();
  const listener = (): void => onAbort();
  signal.addEventListener('abort', listener);
  await Promise.race([work, stopped]).finally(() => signal.removeEventListener('abort', listener));
}
