/** Requests that show more about a message: to the log, to the flow-control key, and to the receiver itself. */
import { randomBytes } from 'node:crypto';
import type { CallOptions, LogQuery } from '#service/api.ts';
import { LOG_STATES, type LogEntry } from '#foundation/domain/log-entry.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { HttpPost } from '#foundation/platform/http-post.ts';
import { leadsToPrivate } from '#foundation/platform/private-address.ts';
import { withTimeout } from '#foundation/platform/sleep.ts';
import { isLocalUrl, type CanaryAnswers } from './answers.ts';
import type { LoggedMessage, LogReading, ReceiverProbe } from './facts.ts';
import { loggedMessage } from './log-reading.ts';
import { codeOf, CODE_HEADER } from './message.ts';
import { failureOf, labelOf, NotSent } from './publish.ts';
import type { Evidence, Round } from './round.ts';
import type { CanaryTarget } from './target.ts';
import type { Question } from './verdict.ts';

/** Limit of a request, with its retries. */
const ANSWER_MS = 15_000;
const PAGE = 100;

export interface QuestionDeps {
  readonly clock: Clock;
  readonly http: HttpPost;
  readonly answers: Pick<CanaryAnswers, 'isKnownService' | 'othersAnswer'>;
}

export interface AskedQuestion {
  readonly target: CanaryTarget;
  readonly round: Round;
  readonly evidence: Evidence;
  readonly signal: AbortSignal;
}

/** Sends the request. Rejects only with the reason of the signal. */
export async function answer(question: Question, asked: AskedQuestion, deps: QuestionDeps): Promise<Evidence> {
  switch (question) {
    case 'log':
      return { log: await readLog(asked, deps) };
    case 'callbackLog':
      return { callbackLog: await readCallbackLog(asked, deps) };
    case 'flow':
      return { flow: await readFlow(asked, deps) };
    case 'receiver':
      return { receiver: await probeReceiver(asked, deps) };
    case 'elsewhere': {
      const { apiUrl, url } = asked.target;
      if (deps.answers.othersAnswer(apiUrl)) return { elsewhere: true };
      const receiver = await probeReceiver(asked, deps);
      if (receiver === 'fails') return { elsewhere: false };
      // A receiver in a private network proves nothing about the network to the service, unless that is on this machine.
      return { elsewhere: isLocalUrl(apiUrl) || !(await leadsToPrivate(url)) };
    }
  }
}

/** Reads the log of the message, by its id, or by its label if the id is unknown. */
export async function readLog({ target, round, signal }: AskedQuestion, deps: QuestionDeps): Promise<LogReading> {
  const { messageId } = round;
  const label = labelOf(round);
  const query: LogQuery = messageId === undefined ? { label: [label] } : { messageId };
  return within(round, deps, signal, async (call) => {
    const entries = await readEntries(target, query, call);
    // The service may have ignored the filter.
    const own = entries.filter((entry) => entry.messageId === messageId || entry.labels.includes(label));
    return loggedMessage(own);
  });
}

/**
 * Reads the log of the callback. All callbacks of a canary have the same URL, so those that have arrived are left out.
 */
async function readCallbackLog(
  { target, round, evidence, signal }: AskedQuestion,
  deps: QuestionDeps,
): Promise<LogReading> {
  const { log } = evidence;
  const fromDate = log !== undefined && 'deliveredAt' in log ? log.deliveredAt : undefined;
  const { callbackUrl: url, inbox } = target;
  return within(round, deps, signal, async (call) => {
    const entries = await readEntries(target, { url, ...(fromDate !== undefined && { fromDate }) }, call);
    const own = entries.filter((entry) => entry.url === url && !inbox.hasCallback(entry.messageId));
    const messages = [...Map.groupBy(own, ({ messageId }) => messageId).values()].map(loggedMessage);
    const [first, ...others] = messages;
    if (first === undefined) return { state: 'none' };
    if (others.every(({ state }) => state === first.state)) return first;
    throw new NotSent('several callbacks of the canary are in flight');
  });
}

/** Reads entries, each with its state. If the service sends none, the filter of the query gives the state. */
async function readEntries({ api }: CanaryTarget, query: LogQuery, call: CallOptions): Promise<LogEntry[]> {
  const { value } = await api.listLogs({ ...query, count: PAGE }, call);
  if (value.every(({ state }) => state !== undefined)) return [...value];
  const found: LogEntry[] = [];
  for (const state of LOG_STATES) {
    if (state === 'IN_PROGRESS') continue;
    const page = await api.listLogs({ ...query, state, count: PAGE }, call);
    found.push(...page.value.map((entry) => ({ ...entry, state })));
  }
  return found.length === 0 ? [...value] : found;
}

/** Reads within the time limit. A failed read is a result too. */
async function within(
  round: Round,
  { clock }: QuestionDeps,
  signal: AbortSignal,
  read: (call: CallOptions) => Promise<LoggedMessage>,
): Promise<LogReading> {
  const afterMs = round.nowMs;
  try {
    const logged = await withTimeout(clock, ANSWER_MS, signal, (limited) => read({ signal: limited }));
    return { afterMs, ...logged };
  } catch (error) {
    signal.throwIfAborted();
    const failed = failureOf(error);
    return { afterMs, failed: failed.code === 'aborted' ? { ...failed, code: 'timeout' } : failed };
  }
}

async function readFlow({ target, signal }: AskedQuestion, { clock }: QuestionDeps): Promise<boolean | 'unknown'> {
  const key = target.settings.via?.flowControlKey;
  if (key === undefined) return 'unknown';
  try {
    const { value } = await withTimeout(clock, ANSWER_MS, signal, (limited) =>
      target.api.getFlowControl(key, { signal: limited }),
    );
    return value.isPaused === true || value.waitListSize > 0;
  } catch {
    signal.throwIfAborted();
    return 'unknown';
  }
}

/** Sends a request to the address of the canary, as the service does. */
async function probeReceiver({ target, signal }: AskedQuestion, { http }: QuestionDeps): Promise<ReceiverProbe> {
  const nonce = randomBytes(16).toString('base64url');
  const headers = { 'content-type': 'text/plain', [CODE_HEADER]: codeOf(target.book.key, 'probe', nonce, target) };
  try {
    await http.send(target.url, { headers, body: Buffer.from('probe') }, signal);
  } catch {
    signal.throwIfAborted();
    return 'fails';
  }
  return (await target.inbox.hasProbe(target, nonce)) ? 'answers' : 'other';
}
