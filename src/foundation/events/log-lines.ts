/**
 * Log line of each event. The level says who must act: debug and info, no one; warn, an operator soon; error, an
 * operator now. Messages are constant; variable data is in the fields.
 */
import type { RunOutcome } from '../domain/plan.ts';
import type { EventOf, OpsEvent } from './events.ts';
import type { Lasting } from './lasting.ts';

type LogLine = readonly [level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: object];

/** Returns the line of an event, or undefined if there is nothing new to log. `none`: the event is never logged. */
export type LineOf<T extends OpsEvent['type']> =
  | 'none'
  | ((event: EventOf<T>, lasting: Lasting) => LogLine | undefined);

const LEVEL_OF_SEVERITY = { info: 'info', warning: 'warn', critical: 'error' } as const;

const LEVEL_OF_RUN = {
  acted: 'info',
  would_act: 'info',
  nothing_to_do: 'info',
  denied: 'info',
  skipped: 'debug',
  held: 'warn',
  pending_approval: 'info',
  deferred: 'info',
  incomplete: 'warn',
  halted: 'warn',
  aborted: 'error',
  failed: 'error',
} as const satisfies Record<RunOutcome, string>;

const POINTS_DISAGREE =
  'sum of statistics points differs from the value of their day, check collectors.accountStats.points';
const POINTS_AGREE = 'sum of statistics points agrees with the value of their day again';

export const LOG_LINES: { readonly [T in OpsEvent['type']]: LineOf<T> } = {
  'api.request': (event) => ['debug', 'request', event],
  'api.retry': (event) => ['debug', 'client waits', event],
  'api.throttled': (event) => ['debug', 'client waits', event],
  'api.rate_limit': (event) => ['debug', 'client waits', event],
  'api.invalid_rows': (event) => ['warn', 'invalid rows dropped from a response', event],
  'credential.read': ({ account, credential, isReplaced }) =>
    isReplaced ? ['info', 'credential file changed, using the new credential', { account, credential }] : undefined,

  'collector.finished': collectorLine,
  'collector.skipped': (event) => ['debug', 'collector run skipped', event],
  'log.set_back': ({ account, from, to }) => [
    'warn',
    'log watermark was ahead of the local clock, resetting it and reading the log again',
    { account, from: new Date(from).toISOString(), to: new Date(to).toISOString() },
  ],
  'statistics.checked': checkLine,

  'telemetry.variable_ignored': ({ variable }) => [
    'warn',
    variable.endsWith('PROTOCOL')
      ? 'environment variable ignored: spans are sent over HTTP, expected http/protobuf or http/json'
      : 'environment variable ignored: expected key=value pairs, percent-encoded',
    { variable },
  ],
  'series.refused': ({ family, limit }) => [
    'warn',
    'series limit telemetry.metrics.maxSeries reached, rejecting new series',
    { family, limit },
  ],
  'spans.exported': (_event, lasting) => ended(lasting, 'spans'),
  'spans.queued': 'none',
  'spans.dropped': ({ reason, count }, lasting) =>
    lasting.isNews('spans', reason) ? ['warn', 'spans dropped', { reason, count }] : undefined,
  'deliveries.written': (_event, lasting) => ended(lasting, 'deliveries', 'dropped deliveries'),
  'deliveries.dropped': ({ count }, lasting) =>
    lasting.isNews('dropped deliveries', 'dropped')
      ? ['warn', 'delivery events dropped, too many are waiting to be written', { count }]
      : undefined,
  'deliveries.failing': ({ reason }, lasting) => {
    // A slow reader of the pipe causes EAGAIN. The waiting lines are counted.
    if (reason === 'EAGAIN') return ['debug', 'delivery events are waiting to be written', { reason }];
    return lasting.isNews('deliveries', reason)
      ? ['warn', 'writing delivery events failed, keeping them in the store', { reason }]
      : undefined;
  },

  'policy.triggered': ({ policy, account, trigger }) => ['info', 'policy triggered', { policy, account, ...trigger }],
  'policy.run': runLine,
  'action.outcome': ({ type: _type, durationMs, ...fields }) => [
    fields.outcome === 'unknown' ? 'warn' : 'info',
    'action',
    { ...fields, durationMs: Math.round(durationMs) },
  ],
  'archive.failed': ({ policy, account, dlqId, reason }) => [
    'warn',
    'archiving an entry failed, deleting it because archive.require is false',
    { policy, account, dlqId, reason },
  ],
  'campaign.changed': ({ type: _type, ...fields }) => [
    fields.state === 'halted' || fields.state === 'audit' ? 'warn' : 'info',
    'campaign state changed',
    fields,
  ],
  'engine.paused': ({ scope, reason }) => [
    'error',
    'paused, no actions until an operator runs opsd unpause',
    { scope, reason },
  ],
  'engine.unpaused': ({ lifted, reason }) => ['info', 'pauses lifted by an operator', { lifted, reason }],
  'engine.recovered': ({ unknown }) =>
    unknown > 0
      ? ['warn', 'actions of an earlier process have unknown outcomes, resolving them by reading', { unknown }]
      : undefined,

  'hook.answered': hookLine,
  'alerts.received': ({ type: _type, ...fields }) =>
    fields.dropped > 0
      ? ['warn', 'invalid alerts dropped from a notification', fields]
      : ['debug', 'alerts received', fields],
  'callback.received': (event) => ['debug', 'callback received', event],
  'body.received': ({ account, lack: reason, problem }) => {
    if (reason === undefined) return undefined;
    // A publisher redacts on purpose.
    return [reason === 'redacted' ? 'debug' : 'warn', 'body of a dead letter not kept', { account, reason, problem }];
  },
  'bodies.dropped': ({ account, reason, count }) => [
    reason === 'total' ? 'warn' : 'debug',
    'kept bodies of dead letters dropped',
    { account, reason, count },
  ],
  'deploy.reported': ({ type: _type, ...fields }) => ['info', 'deploy reported', fields],
  'alert.unassigned': ({ receiver, name }) => [
    'warn',
    'alert without account triggers no policy',
    {
      receiver,
      alert: name,
      help: `set hooks.alertmanager.${receiver}.withoutAccount, or add a label "account" to the alert`,
    },
  ],

  'canary.phase': 'none',
  'canary.round_trip': 'none',
  'canary.message': ({ type: _type, ...fields }) =>
    ['duplicate', 'altered', 'late', 'lost'].includes(fields.outcome) ? ['warn', 'canary message', fields] : undefined,
  'canary.verdict': ({ type: _type, ...fields }) =>
    fields.verdict === fields.previous
      ? ['debug', 'canary verdict', fields]
      : [fields.verdict === 'ok' ? 'info' : 'warn', 'canary verdict changed', fields],

  notification: ({ type: _type, isResolved, isSnoozed = false, ...fields }) =>
    isResolved
      ? ['info', isSnoozed ? 'condition snoozed' : 'condition resolved', fields]
      : [LEVEL_OF_SEVERITY[fields.severity], 'condition active', fields],
  'conditions.active': 'none',
  'notification.sent': ({ receiver }, lasting) =>
    lasting.end(`notifications ${receiver}`) ? ['info', 'notification delivery recovered', { receiver }] : undefined,
  'notification.failed': ({ receiver, reason }, lasting) =>
    lasting.isNews(`notifications ${receiver}`, reason)
      ? ['warn', 'notification delivery failed, will retry', { receiver, reason }]
      : undefined,
  'notification.dropped': ({ type: _type, ...fields }) => ['error', 'notifications dropped', fields],
  'notifications.queued': 'none',

  'schedule.rearmed': ({ name, jumpMs }) => ['warn', 'clock jumped, schedule set again', { name, jumpMs }],
  'config.reloaded': ({ by, changed }) => [
    'info',
    changed ? 'configuration changed, applying it' : 'configuration reloaded without changes',
    { by },
  ],
  'config.reload_failed': ({ type: _type, ...fields }) => [
    'error',
    'configuration reload failed, keeping the previous configuration',
    fields,
  ],
  'web_config.changed': ({ listener }) => ['info', 'web configuration changed, applying it', { listener }],
  'store.failed': ({ operation, message }) => ['error', 'store operation failed', { operation, detail: message }],
  'backup.failed': ({ message }) => [
    'error',
    'scheduled backup failed, keeping the previous backups',
    { detail: message },
  ],
  'lease.taken': ({ account, epoch, before }) => ['info', 'this replica owns the account', { account, epoch, before }],
  'lease.ended': ({ account, reason }) => [
    reason === 'handover' ? 'info' : 'warn',
    'this replica owns the account no longer',
    { account, reason },
  ],
};

/** Ends conditions without a line. */
function ended(lasting: Lasting, ...things: readonly string[]): undefined {
  for (const thing of things) lasting.end(thing);
}

function collectorLine(
  { account, collector, durationMs, failure }: EventOf<'collector.finished'>,
  lasting: Lasting,
): LogLine {
  const thing = `collector ${account} ${collector}`;
  if (failure === undefined) {
    if (lasting.end(thing)) return ['info', 'collector recovered', { account, collector }];
    // The daemon is stopping, or another replica owns the account: that says nothing about the collector.
  } else if (!['aborted', 'lease'].includes(failure.reason) && lasting.isNews(thing, failure.reason)) {
    return ['warn', 'collector failed', { account, collector, ...failure }];
  }
  return ['debug', 'collector run finished', { account, collector, durationMs: Math.round(durationMs), ...failure }];
}

function checkLine(
  { account, against, what, statistics, other, isWrong }: EventOf<'statistics.checked'>,
  lasting: Lasting,
): LogLine | undefined {
  const thing = `statistics ${account} ${against} ${what}`;
  const fields = { account, what, statistics, [against]: other };
  const isDay = against === 'day';
  if (!isWrong) {
    if (!lasting.end(thing)) return undefined;
    return ['info', isDay ? POINTS_AGREE : 'log and statistics agree again', fields];
  }
  const level = lasting.isNews(thing, 'wrong') ? 'warn' : 'debug';
  return [level, isDay ? POINTS_DISAGREE : 'log and statistics disagree for the last hours', fields];
}

/** Returns the line of a run. A run that acted is always logged; one that repeats the last outcome only at debug. */
function runLine(event: EventOf<'policy.run'>, lasting: Lasting): LogLine {
  const { policy, account, outcome, matched, acted, backlog, stopped, error } = event;
  const fields = {
    policy,
    account,
    outcome,
    matched,
    acted,
    backlog,
    ...(stopped !== undefined && { guard: stopped.guard, reason: stopped.reason }),
    error,
  };
  const isNews = lasting.isNews(`policy ${policy}`, `${outcome} ${stopped?.guard ?? ''} ${matched !== 0}`);
  const level = LEVEL_OF_RUN[outcome];
  const isAct = acted > 0 && level === 'info';
  const isQuiet = !isNews || (outcome === 'nothing_to_do' && matched === 0);
  return [isQuiet && !isAct ? 'debug' : level, 'policy run finished', fields];
}

/** Returns the line of a hook's response. Strangers call an open address all day, so only configured hooks are news. */
function hookLine({ hook, name, code, refused }: EventOf<'hook.answered'>, lasting: Lasting): LogLine {
  const fields = { hook, name, code, refused };
  const thing = `hook ${hook} ${name}`;
  if (refused === undefined && name !== undefined) lasting.end(thing);
  else if (name !== undefined && refused !== 'method' && lasting.isNews(thing, String(refused))) {
    return ['warn', 'hook rejected a request', fields];
  }
  return ['debug', 'hook request handled', fields];
}
