/**
 * Deadline of reads. A response comes before the listener closes a connection that was silent for too long, and ends the
 * work for it.
 */
import type { Clock } from '#foundation/platform/clock.ts';
import type { ListenerRequest } from './http-listener.ts';
import { HttpError, type Reply } from './reply.ts';

/** Time after which the work is ended. It usually responds at once, and has a better reason. */
const DEADLINE_MS = 20_000;
/** Time after which the response is sent without it. */
const LAST_MS = 22_000;

/** Answers a request before the deadline, unless the work says that it may take long. */
export async function withinDeadline(
  asked: ListenerRequest,
  clock: Clock,
  answer: (asked: ListenerRequest) => Reply | Promise<Reply>,
): Promise<Reply> {
  const late = new AbortController();
  const { promise: last, reject } = Promise.withResolvers<never>();
  using deadline = clock.after(DEADLINE_MS, () =>
    late.abort(new DOMException('the deadline of the response is over', 'TimeoutError')),
  );
  using end = clock.after(LAST_MS, () => reject(tooLate()));
  const mayTakeLong = (): void => {
    deadline.cancel();
    end.cancel();
    asked.mayTakeLong();
  };
  const signal = AbortSignal.any([asked.signal, late.signal]);
  return await Promise.race([answer({ ...asked, signal, mayTakeLong }), last]);
}

function tooLate(): HttpError {
  const message = `The daemon could not finish this response within ${LAST_MS / 1_000} seconds: it waits for its store, or for the service. Retry; \`opsd doctor\` checks both.`;
  return new HttpError(503, 'busy', message, { 'Retry-After': '5' });
}
