/** Remark about dead letters that the daemon has not read, or that may be outdated. */
import { isRecord } from '../daemon-exchange.ts';

/** Every account has the remark that the message DLQ cannot be listed, so only other problems are shown. */
export function queueNote(data: Readonly<Record<string, unknown>>): string | undefined {
  const problems = queuesOf(data).filter(
    (one) =>
      typeof one['problem'] === 'string' &&
      (one['queue'] === 'workflow' || one['readAt'] !== undefined || isNotRead(one)),
  );
  if (problems.length === 0) return undefined;
  const texts = problems.map(
    ({ account, queue, problem }) => `${String(account)}, ${String(queue)} DLQ: ${String(problem)}`,
  );
  return `Dead letters may be missing or old: ${texts.join('; ')}`;
}

/** Returns true if the daemon has not read a queue yet, so its dead letters are unknown. */
export function isQueueUnread(data: Readonly<Record<string, unknown>>): boolean {
  return queuesOf(data).some(isNotRead);
}

function isNotRead({ problem }: Readonly<Record<string, unknown>>): boolean {
  return typeof problem === 'string' && problem.startsWith('not read');
}

function queuesOf({ queues }: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(queues) ? queues.filter(isRecord) : [];
}
