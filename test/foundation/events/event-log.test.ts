import { expect, test } from 'vitest';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { textLog } from '#foundation/platform/text-log.ts';

function logOf(...said: readonly OpsEvent[]): { level: string; msg: string; [key: string]: unknown }[] {
  const lines: string[] = [];
  const events = new EventBus();
  using _subscription = logEvents(
    events,
    createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } }),
  );
  for (const event of said) events.emit(event);
  return lines.map((line) => JSON.parse(line) as { level: string; msg: string });
}

const ran = { type: 'collector.finished', account: 'production', collector: 'logs', at: 1, durationMs: 2 } as const;
const failed = { ...ran, failure: { reason: 'timeout', message: 'no answer within 10s' } };

test('a collector that fails is logged once, and once when it works again', () => {
  expect(logOf(ran, failed, failed, failed, ran, ran).map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
    'warn: collector failed',
    'info: collector recovered',
  ]);
  expect(logOf(failed)[0]).toMatchObject({ account: 'production', collector: 'logs', reason: 'timeout' });
});

test('the first use of a credential is not logged, a replaced one is', () => {
  const read = { type: 'credential.read', account: 'production', credential: 'token', writtenAt: 1 } as const;
  expect(logOf({ ...read, isReplaced: false })).toEqual([]);
  expect(logOf({ ...read, isReplaced: true })).toMatchObject([{ level: 'info', credential: 'token' }]);
});

test('a snoozed condition is not resolved', () => {
  const ended = {
    key: 'incident/3f2a',
    severity: 'warning',
    summary: '',
    detail: '',
    at: 1,
    isResolved: true,
  } as const;
  const log = logOf({ type: 'notification', ...ended }, { type: 'notification', ...ended, isSnoozed: true });
  expect(log.map(({ msg }) => msg)).toEqual(['condition resolved', 'condition snoozed']);
});

const run = {
  type: 'policy.run',
  policy: 'p',
  account: 'a',
  at: 1,
  matched: 3,
  acted: 0,
  backlog: 0,
  denials: [],
  evaluationErrors: 0,
  trigger: 'schedule',
} as const;

test('levels say who must act', () => {
  const act = {
    type: 'action.outcome',
    policy: 'p',
    account: 'a',
    action: 'workflow-dlq.resume',
    target: 'd',
    items: 1,
    durationMs: 1,
  } as const;
  const log = logOf(
    { ...run, outcome: 'nothing_to_do' },
    { ...run, outcome: 'held', stopped: { guard: 'quota', reason: '429' } },
    { ...run, outcome: 'aborted', stopped: { guard: 'filter_mismatch', reason: 'label was ignored' } },
    { ...act, outcome: 'accepted' },
    { ...act, outcome: 'unknown' },
    { type: 'store.failed', operation: 'commit', message: 'disk full' },
  );
  expect(log.map(({ level }) => level)).toEqual(['info', 'warn', 'error', 'info', 'warn', 'error']);
  expect(log[2]).toMatchObject({ guard: 'filter_mismatch', reason: 'label was ignored', outcome: 'aborted' });
});

test('what goes on as it was is said once, acts each time', () => {
  const incomplete = {
    ...run,
    outcome: 'incomplete',
    stopped: { guard: 'incomplete_read', reason: 'timeout' },
  } as const;
  expect(logOf(incomplete, incomplete, incomplete).map(({ level }) => level)).toEqual(['warn']);
  expect(logOf(incomplete, { ...run, outcome: 'nothing_to_do', matched: 0 }, incomplete)).toHaveLength(2);
  const acted = { ...run, outcome: 'acted', acted: 2 } as const;
  expect(logOf(acted, acted)).toHaveLength(2);
});

test('a collector that fails for another reason is logged; a stopped one is not', () => {
  const unauthorized = { ...ran, failure: { reason: 'unauthorized', message: '401' } };
  const aborted = { ...ran, failure: { reason: 'aborted', message: 'the scheduler stops' } };
  expect(logOf(failed, unauthorized, unauthorized, aborted).map((line) => line['reason'])).toEqual([
    'timeout',
    'unauthorized',
  ]);
});

test('dropped spans are logged once until an export succeeds', () => {
  const dropped = { type: 'spans.dropped', count: 5, reason: 'failed' } as const;
  expect(logOf(dropped, dropped, { type: 'spans.exported', count: 1 }, dropped)).toHaveLength(2);
});

test('on a terminal a line is time, level, message and data; control characters cannot reach it', () => {
  let text = '';
  const destination = textLog({ write: (more) => (text += more) }, { color: false });
  const logger = createLogger({ level: 'info', destination });
  logger.warn({ account: 'production', error: 'bad \u001B[2J screen', n: 3 }, 'collector failed');
  expect(text).toMatch(
    /^\d\d:\d\d:\d\d WARN {2}collector failed account=production error="bad \\u001b\[2J screen" n=3\n$/,
  );
});

test('wrong statistics are logged once, and once when they are right again', () => {
  const check = { type: 'statistics.checked', account: 'a', what: 'DELIVERED', statistics: 5, other: 9 } as const;
  const wrong = { ...check, against: 'log', isWrong: true } as const;
  const right = { ...check, against: 'log', isWrong: false } as const;
  const log = logOf(right, wrong, wrong, right, right, { ...wrong, against: 'day', what: 'used' });
  expect(log.map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
    'warn: log and statistics disagree for the last hours',
    'info: log and statistics agree again',
    'warn: sum of statistics points differs from the value of their day, check collectors.accountStats.points',
  ]);
  expect(log[0]).toMatchObject({ account: 'a', what: 'DELIVERED', statistics: 5, log: 9 });
  expect(log[2]).toMatchObject({ account: 'a', what: 'used', statistics: 5, day: 9 });
});
