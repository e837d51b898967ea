/** Remark about dead letters that the daemon has not read, or that may be outdated. */
import { isRecord } from '../daemon-exchange.ts';

/** Every account has the remark that the message DLQ cannot be listed, so only other problems are shown. */
export function queueNote({ queues }: Readonly<Record<string, unknown>>): string | undefined {
  const problems = (Array.isArray(queues) ? queues.filter(isRecord) : []).filter(
    ({ problem, readAt, queue }) =>
      typeof problem === 'string' && (queue === 'workflow' || readAt !== undefined || problem.startsWith('not read')),
  );
  if (problems.length === 0) return undefined;
  const texts = problems.map(
    ({ account, queue, problem }) => `${String(account)}, ${String(queue)} DLQ: ${String(problem)}`,
  );
  return `Dead letters may be missing or old: ${texts.join('; ')}`;
}
