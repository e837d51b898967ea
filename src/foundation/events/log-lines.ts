/**
 * The log line of each event. The level names who must act: debug nobody, info nobody although it is worth knowing,
 * warn somebody soon, error somebody now. Messages are constant; what varies is in the fields.
 */
import type { RunOutcome } from '../domain/plan.ts';
import type { EventOf, OpsEvent } from './events.ts';
import type { Lasting } from './lasting.ts';

type LogLine = readonly [level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: object];

/** Returns the line of an event, or undefined when there is nothing new to log. `none`: the event is never logged. */
export type LineOf<T extends OpsEvent['type']> =
  | 'none'
  | ((event: EventOf<T>, lasting: Lasting) => LogLine | undefined);

const LEVEL_OF_SEVERITY = { info: 'info', warning: 'warn', critical: 'error' } as const;

const LEVEL_OF_RUN = {
  acted: 'info',
  nothing: 'info',
  skipped: 'debug',
  held: 'warn',
  waiting: 'info',
  incomplete: 'warn',
  halted: 'warn',
  aborted: 'error',
  error: 'error',
} as const satisfies Record<RunOutcome, string>;

const POINTS_DISAGREE = 'points of the statistics do not add up to their day: see collectors.accountStats.points';
const POINTS_AGREE = 'points of the statistics add up to their day again';

export const LOG_LINES: { readonly [T in OpsEvent['type']]: LineOf<T> } = {
  'api.request': (event) => ['debug', 'request', event],
  'api.retry': (event) => ['debug', 'client waits', event],
  'api.throttled': (event) => ['debug', 'client waits', event],
  'api.rate_limit': (event) => ['debug', 'client waits', event],
  'api.rows_dropped': (event) => ['warn', 'rows of an answer were not understood and left out', event],
  'credential.read': ({ account, credential, isReplaced }) =>
    isReplaced ? ['info', 'credential file changed; it is used from now on', { account, credential }] : undefined,

  'collector.finished': collectorLine,
  'collector.skipped': (event) => ['debug', 'collector run was skipped', event],
  'log.set_back': ({ account, from, to }) => [
    'warn',
    'log watermark was ahead of the local clock, reading the log again from an earlier time',
    { account, from: new Date(from).toISOString(), to: new Date(to).toISOString() },
  ],
  'statistics.checked': checkLine,

  'telemetry.variable_ignored': ({ variable }) => [
    'warn',
    'environment variable ignored: expected key=value pairs, percent-encoded',
    { variable },
  ],
  'series.refused': ({ family, limit }) => [
    'warn',
    'there are as many series as telemetry.metrics.maxSeries allows; new ones are not shown',
    { family, limit },
  ],
  'spans.exported': (_event, lasting) => ended(lasting, 'spans'),
  'spans.waiting': 'none',
  'spans.dropped': ({ reason, count }, lasting) =>
    lasting.isNews('spans', reason) ? ['warn', 'spans are being dropped', { reason, count }] : undefined,
  'deliveries.written': (_event, lasting) => ended(lasting, 'deliveries', 'dropped deliveries'),
  'deliveries.dropped': ({ count }, lasting) =>
    lasting.isNews('dropped deliveries', 'dropped')
      ? ['warn', 'lines about deliveries are dropped: too many wait to be written', { count }]
      : undefined,
  'deliveries.failing': ({ reason }, lasting) => {
    // A slow reader of the pipe shows as EAGAIN; the lines that wait for it are counted.
    if (reason === 'EAGAIN') return ['debug', 'lines about deliveries wait', { reason }];
    return lasting.isNews('deliveries', reason)
      ? ['warn', 'lines about deliveries cannot be written; they wait in the store', { reason }]
      : undefined;
  },

  'policy.triggered': ({ policy, account, trigger }) => [
    'info',
    'a policy is triggered',
    { policy, account, ...trigger },
  ],
  'policy.run': runLine,
  'action.outcome': ({ type: _type, durationMs, ...fields }) => [
    fields.outcome === 'unknown' ? 'warn' : 'info',
    'action',
    { ...fields, durationMs: Math.round(durationMs) },
  ],
  'archive.failed': ({ policy, account, dlqId, reason }) => [
    'warn',
    'an entry was not archived; it is deleted nevertheless, since archive.require is false',
    { policy, account, dlqId, reason },
  ],
  'campaign.changed': ({ type: _type, ...fields }) => [
    fields.state === 'halted' || fields.state === 'audit' ? 'warn' : 'info',
    'a campaign goes on, or halts',
    fields,
  ],
  'engine.paused': ({ scope, reason }) => [
    'error',
    'paused: nothing is done until a person lifts it with opsd unpause',
    { scope, reason },
  ],
  'engine.unpaused': ({ lifted, reason }) => ['info', 'a person lifted the pauses', { lifted, reason }],
  'engine.recovered': ({ unknown }) =>
    unknown > 0
      ? ['warn', 'actions of an earlier process have no known outcome; they are resolved by reading', { unknown }]
      : undefined,

  'hook.answered': hookLine,
  'alerts.received': ({ type: _type, ...fields }) =>
    fields.dropped > 0
      ? ['warn', 'alerts of a notification were not understood and left out', fields]
      : ['debug', 'alerts received', fields],
  'callback.received': (event) => ['debug', 'callback received', event],
  'alert.unassigned': ({ receiver, name }) => [
    'warn',
    'an alert without account triggers no policy',
    {
      receiver,
      alert: name,
      help: `set hooks.alertmanager.${receiver}.withoutAccount, or add a label "account" to the alert`,
    },
  ],

  notice: ({ type: _type, isResolved, ...fields }) =>
    isResolved
      ? ['info', 'over', fields]
      : [LEVEL_OF_SEVERITY[fields.severity], 'a person should know of this', fields],
  'notices.standing': 'none',
  'notification.sent': ({ receiver }, lasting) =>
    lasting.end(`notifications ${receiver}`) ? ['info', 'notifications are delivered again', { receiver }] : undefined,
  'notification.failed': ({ receiver, reason }, lasting) =>
    lasting.isNews(`notifications ${receiver}`, reason)
      ? ['warn', 'notifications cannot be delivered; they wait', { receiver, reason }]
      : undefined,
  'notification.dropped': ({ type: _type, ...fields }) => ['error', 'notifications are lost', fields],
  'notifications.waiting': 'none',

  'schedule.rearmed': ({ name, jumpMs }) => ['warn', 'the clock jumped; schedule was set anew', { name, jumpMs }],
  'config.reloaded': ({ by, changed }) => [
    'info',
    changed ? 'configuration changed, applying it' : 'the configuration was loaded again; nothing has changed',
    { by },
  ],
  'config.reload_failed': ({ type: _type, ...fields }) => [
    'error',
    'the configuration cannot be used; the one before stays',
    fields,
  ],
  'web_config.changed': ({ listener }) => [
    'info',
    'the web configuration file has changed; it holds from now on',
    { listener },
  ],
  'store.failed': ({ operation, message }) => ['error', 'the store failed', { operation, detail: message }],
  'backup.failed': ({ message }) => [
    'error',
    'scheduled backup failed, keeping the previous backups',
    { detail: message },
  ],
};

/** Ends what lasts, without a line. */
function ended(lasting: Lasting, ...things: readonly string[]): undefined {
  for (const thing of things) lasting.end(thing);
}

function collectorLine(
  { account, collector, durationMs, failure }: EventOf<'collector.finished'>,
  lasting: Lasting,
): LogLine {
  const thing = `collector ${account} ${collector}`;
  if (failure === undefined) {
    if (lasting.end(thing)) return ['info', 'collector works again', { account, collector }];
    // A run that was aborted because the daemon stops says nothing about the collector.
  } else if (failure.reason !== 'aborted' && lasting.isNews(thing, failure.reason)) {
    return ['warn', 'collector is failing', { account, collector, ...failure }];
  }
  return ['debug', 'collector ran', { account, collector, durationMs: Math.round(durationMs), ...failure }];
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
  return [level, isDay ? POINTS_DISAGREE : 'log and statistics do not agree on the last hours', fields];
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
    ...stopped,
    ...(error !== undefined && { error }),
  };
  const isNews = lasting.isNews(`policy ${policy}`, `${outcome} ${stopped?.guard ?? ''} ${matched > 0}`);
  const level = LEVEL_OF_RUN[outcome];
  const isAct = acted > 0 && level === 'info';
  const isQuiet = !isNews || (outcome === 'nothing' && matched === 0);
  return [isQuiet && !isAct ? 'debug' : level, 'policy run finished', fields];
}

/** Returns the line of a hook's answer. Strangers call an open address all day: only configured hooks are news. */
function hookLine({ hook, name, code, refused }: EventOf<'hook.answered'>, lasting: Lasting): LogLine {
  const fields = { hook, ...(name !== undefined && { name }), code, ...(refused !== undefined && { refused }) };
  const thing = `hook ${hook} ${name}`;
  if (refused === undefined && name !== undefined) lasting.end(thing);
  else if (name !== undefined && refused !== 'method' && lasting.isNews(thing, String(refused))) {
    return ['warn', 'a hook refuses what it is sent', fields];
  }
  return ['debug', 'hook answered', fields];
}
