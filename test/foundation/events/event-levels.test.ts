/**
 * The level of each event says who must act: no one (debug), no one but it is worth knowing (info), someone soon or
 * now.
 */
import { expect, test } from 'vitest';
import { logEvents } from '#foundation/events/event-log.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';

const account = 'production';
const api = { account, api: 'message', operation: 'list-logs' } as const;
const sent = { method: 'GET', url: 'https://eu.example/v2/logs' };
const run = {
  policy: 'p',
  account,
  at: 1,
  matched: 3,
  acted: 0,
  backlog: 0,
  denials: [],
  evaluationErrors: 0,
  trigger: 'schedule',
} as const;
const act = { policy: 'p', account, action: 'workflow-dlq.resume', target: 'd', items: 1, durationMs: 1 } as const;
const notification = { key: 'held/p', severity: 'warning', summary: 's', detail: 'd', at: 1 } as const;
const collector = { account, collector: 'logs', at: 1, durationMs: 2 } as const;
const failure = { reason: 'timeout', message: 'no answer' };

type Said<T extends OpsEvent['type']> = readonly (readonly [Omit<Extract<OpsEvent, { type: T }>, 'type'>, string])[];

/** Every event. A new event does not compile without its line here. */
const LEVELS: { readonly [T in OpsEvent['type']]: Said<T> } = {
  'body.received': [
    [{ account, lack: 'key', problem: 'p' }, 'warn'],
    [{ account, lack: 'redacted' }, 'debug'],
  ],
  'bodies.dropped': [
    [{ account, reason: 'total', count: 1 }, 'warn'],
    [{ account, reason: 'expired', count: 1 }, 'debug'],
  ],
  'deploy.reported': [[{ account: 'production', version: 'v42', isRollback: false }, 'info']],
  'alert.unassigned': [[{ receiver: 'opsd', name: 'Down' }, 'warn']],
  'api.request': [[{ ...api, ...sent, code: 200, durationMs: 1, bytes: 1 }, 'debug']],
  'api.retry': [[{ ...api, delayMs: 1 }, 'debug']],
  'api.throttled': [[{ account, api: 'message', waitMs: 1 }, 'debug']],
  'api.rate_limit': [[{ account, api: 'message', window: 'day', remaining: 1 }, 'debug']],
  'api.invalid_rows': [[{ account, operation: 'list-logs', count: 1, values: 0, example: 'time: missing' }, 'warn']],
  'collector.finished': [
    [collector, 'debug'],
    [{ ...collector, failure }, 'warn'],
    [{ ...collector, failure: { reason: 'aborted', message: 'the daemon stops' } }, 'debug'],
    [{ ...collector, failure: { reason: 'lease', message: 'the account moves' } }, 'debug'],
  ],
  'telemetry.variable_ignored': [[{ variable: 'OTEL_RESOURCE_ATTRIBUTES' }, 'warn']],
  'log.set_back': [[{ account, from: 2, to: 1 }, 'warn']],
  'collector.skipped': [[{ account, collector: 'logs', reason: 'overlap' }, 'debug']],
  'series.refused': [[{ family: 'msgsvc_up', limit: 1 }, 'warn']],
  'statistics.checked': [
    [{ account, against: 'day', what: 'x', statistics: 1, other: 2, isWrong: true }, 'warn'],
    [{ account, against: 'log', what: 'x', statistics: 1, other: 2, isWrong: true }, 'warn'],
  ],
  'schedule.rearmed': [[{ name: 'x', jumpMs: 1 }, 'warn']],
  'credential.read': [[{ account, credential: 'token', writtenAt: 0, isReplaced: true }, 'info']],
  'spans.exported': [],
  'spans.dropped': [[{ count: 1, reason: 'rejected' }, 'warn']],
  'spans.queued': [],
  'deliveries.written': [],
  'deliveries.dropped': [[{ count: 1 }, 'warn']],
  'deliveries.failing': [
    [{ reason: 'ENOSPC' }, 'warn'],
    [{ reason: 'EAGAIN' }, 'debug'],
  ],
  'policy.run': [
    [{ ...run, outcome: 'acted', acted: 1 }, 'info'],
    [{ ...run, outcome: 'nothing_to_do' }, 'info'],
    [{ ...run, outcome: 'nothing_to_do', matched: 0 }, 'debug'],
    [{ ...run, outcome: 'skipped' }, 'debug'],
    [{ ...run, outcome: 'held' }, 'warn'],
    [{ ...run, outcome: 'pending_approval' }, 'info'],
    [{ ...run, outcome: 'deferred' }, 'info'],
    [{ ...run, outcome: 'incomplete' }, 'warn'],
    [{ ...run, outcome: 'halted' }, 'warn'],
    [{ ...run, outcome: 'aborted' }, 'error'],
    [{ ...run, outcome: 'failed', error: 'x' }, 'error'],
  ],
  'action.outcome': [
    [{ ...act, outcome: 'accepted' }, 'info'],
    [{ ...act, outcome: 'unknown' }, 'warn'],
  ],
  'archive.failed': [[{ policy: 'p', account, dlqId: 'd', reason: 'disk full' }, 'warn']],
  'engine.paused': [[{ scope: 'engine', reason: 'x' }, 'error']],
  'engine.unpaused': [[{ lifted: 1, reason: 'x' }, 'info']],
  'engine.recovered': [[{ unknown: 1 }, 'warn']],
  'hook.answered': [
    [{ hook: 'other', code: 404 }, 'debug'],
    [{ hook: 'alertmanager', name: 'opsd', code: 202 }, 'debug'],
    [{ hook: 'alertmanager', name: 'opsd', code: 405, refused: 'method' }, 'debug'],
    [{ hook: 'callbacks', name: account, code: 401, refused: 'signature' }, 'warn'],
  ],
  'alerts.received': [
    [{ receiver: 'opsd', firing: 1, resolved: 0, dropped: 0 }, 'debug'],
    [{ receiver: 'opsd', firing: 1, resolved: 0, dropped: 1 }, 'warn'],
  ],
  'callback.received': [[{ account, kind: 'failure_callback', codeClass: '5xx' }, 'debug']],
  'policy.triggered': [[{ policy: 'p', account, trigger: { kind: 'callback', key: 'a/d' } }, 'info']],
  'campaign.changed': [
    [{ policy: 'p', account, group: 'g', state: 'ready', step: 2, size: 3 }, 'info'],
    [{ policy: 'p', account, group: 'g', state: 'halted', step: 1, size: 1, reason: 'x' }, 'warn'],
  ],
  'canary.phase': [],
  'canary.round_trip': [],
  'canary.message': [
    [{ account, canary: 'c', outcome: 'lost' }, 'warn'],
    [{ account, canary: 'c', outcome: 'duplicate' }, 'warn'],
  ],
  'canary.verdict': [
    [{ account, canary: 'c', verdict: 'ok', previous: 'ok', reason: 'x', round: 'r' }, 'debug'],
    [{ account, canary: 'c', verdict: 'ok', reason: 'x', round: 'r' }, 'info'],
    [{ account, canary: 'c', verdict: 'service', previous: 'ok', reason: 'x', round: 'r' }, 'warn'],
  ],
  notification: [
    [{ ...notification, isResolved: false }, 'warn'],
    [{ ...notification, severity: 'critical', isResolved: false }, 'error'],
    [{ ...notification, isResolved: true }, 'info'],
  ],
  'conditions.active': [],
  'notifications.queued': [],
  'notification.sent': [],
  'notification.failed': [[{ receiver: 'webhook', reason: 'ECONNREFUSED' }, 'warn']],
  'notification.dropped': [[{ receiver: 'webhook', reason: 'full', count: 1 }, 'error']],
  'config.reloaded': [
    [{ by: 'SIGHUP', changed: true }, 'info'],
    [{ by: 'SIGHUP', changed: false }, 'info'],
  ],
  'config.reload_failed': [[{ by: 'SIGHUP', problems: ['opsd.yaml:1:1: x'], auditOnly: true }, 'error']],
  'web_config.changed': [[{ listener: 'server' }, 'info']],
  'store.failed': [[{ operation: 'commit', message: 'disk full' }, 'error']],
  'backup.failed': [[{ message: 'disk full' }, 'error']],
  'lease.taken': [[{ account: 'production', epoch: 2, before: 'died' }, 'info']],
  'lease.ended': [
    [{ account: 'production', reason: 'handover' }, 'info'],
    [{ account: 'production', reason: 'lost' }, 'warn'],
    [{ account: 'production', reason: 'unreachable' }, 'warn'],
  ],
};

const cases = Object.entries(LEVELS).flatMap(([type, said]) =>
  said.map(([rest, level]) => [type, level, { type, ...(rest as object) } as OpsEvent] as const),
);

test.each(cases)('%s is %s', (_type, level, event) => {
  const lines: string[] = [];
  const events = new EventBus();
  const logger = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  using _subscription = logEvents(events, logger);
  events.emit(event);
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([level]);
});

test('an event without a line logs nothing', () => {
  const lines: string[] = [];
  const events = new EventBus();
  const logger = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  using _subscription = logEvents(events, logger);
  events.emit({ type: 'deliveries.written', count: 1 });
  expect(lines).toEqual([]);
});
