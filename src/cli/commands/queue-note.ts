/** Remark about dead letters that the daemon has not read, or that may be outdated. */
import type { QueueStatus } from '#operate/contract/dead-letters.ts';

interface Queues {
  readonly queues: readonly QueueStatus[];
}

/** Every account has the remark that the message DLQ cannot be listed, so only other problems are shown. */
export function queueNote({ queues }: Queues): string | undefined {
  const problems = queues.filter(
    (one) => one.problem !== undefined && (one.queue === 'workflow' || one.readAt !== undefined || isNotRead(one)),
  );
  if (problems.length === 0) return undefined;
  const texts = problems.map(({ account, queue, problem }) => `${account}, ${queue} DLQ: ${problem}`);
  return `Dead letters may be missing or old: ${texts.join('; ')}`;
}

/** Returns true if the daemon has not read a queue yet, so its dead letters are unknown. */
export function isQueueUnread({ queues }: Queues): boolean {
  return queues.some(isNotRead);
}

function isNotRead({ problem }: QueueStatus): boolean {
  return problem?.startsWith('not read') === true;
}
