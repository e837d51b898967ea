/** Follows one message until its verdict: reads the log at growing intervals, and asks what the verdict needs. */
import type { CanaryTarget } from './target.ts';
import { answer, readLog, type QuestionDeps } from './questions.ts';
import { isLogged, type Evidence, type Round } from './round.ts';
import { judgeCanary } from './verdict.ts';

/** Interval of the first read of the log. Each further one is twice as long. */
const FIRST_READ_MS = 1_000;
/** Interval of looking for requests that reached another replica. */
const RECEIVE_EVERY_MS = 1_000;

/** Resolves once the message has its verdict. Rejects with the reason of the signal, or if the store fails. */
export async function follow(
  target: CanaryTarget,
  round: Round,
  deps: QuestionDeps,
  signal: AbortSignal,
): Promise<void> {
  let evidence: Evidence = {};
  let interval = FIRST_READ_MS;
  let nextRead = Math.max(round.nowMs, round.record.publish?.afterMs ?? 0) + interval;
  const note = (more: Evidence): void => {
    evidence = { ...evidence, ...more };
    if (more.log !== undefined) target.book.logged(round, more.log);
  };
  const asked = () => ({ target, round, evidence, signal });
  while (!round.isEnded) {
    signal.throwIfAborted();
    const { account, book, inbox } = target;
    // Before each verdict: the message may have arrived at another replica.
    await inbox.receive(target);
    if (round.isEnded) return;
    const known = {
      isKnownService: deps.answers.isKnownService(account) || book.hasSucceeded(account),
      logsResponses: book.logsResponses(account),
    };
    const step = judgeCanary(round.facts(evidence, known), round.nowMs);
    if (step.kind === 'verdict') return book.end(round, step.result);
    if (step.kind === 'ask') {
      note(await answer(step.question, asked(), deps));
      continue;
    }
    const readsLog = !isLogged(evidence.log, 'delivered') && !isLogged(evidence.log, 'failed');
    const received = inbox.isShared ? round.nowMs + RECEIVE_EVERY_MS : Infinity;
    await round.changeOr(Math.min(step.untilMs, readsLog ? nextRead : Infinity, received), signal);
    if (!readsLog || round.nowMs < nextRead) continue;
    note({ log: await readLog(asked(), deps) });
    interval *= 2;
    nextRead = round.nowMs + interval;
  }
}
