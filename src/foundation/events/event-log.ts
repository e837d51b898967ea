/**
 * Events as log lines. The level says who must act: debug nobody, info nobody but worth knowing, warn somebody soon,
 * error somebody now. Messages are constant; what varies is in the object. What lasts is said when it begins and when
 * it ends, not each time in between.
 */
import type { RunOutcome } from '../domain/plan.ts';
import type { EventBus, OpsEvent } from './events.ts';
import type { Logger } from '../platform/logger.ts';

/** Who must act on a run that ended so. */
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

export function logEvents(events: EventBus, logger: Logger): Disposable {
  /** What was last said of each thing that lasts. */
  const said = new Map<string, string>();

  /** Whether this is news: what is so was not said last time. */
  function isNews(thing: string, what: string): boolean {
    if (said.get(thing) === what) return false;
    said.set(thing, what);
    return true;
  }

  function onCollector(event: Extract<OpsEvent, { type: 'collector.finished' }>): void {
    const { account, collector, durationMs, failure } = event;
    const thing = `collector ${account} ${collector}`;
    const data = { account, collector, durationMs: Math.round(durationMs), ...failure };
    // A run that was broken off because the daemon stops says nothing of the collector.
    if (failure === undefined) {
      if (said.delete(thing)) logger.info({ account, collector }, 'collector works again');
      else logger.debug(data, 'collector ran');
    } else if (failure.reason !== 'aborted' && isNews(thing, failure.reason)) {
      logger.warn({ account, collector, ...failure }, 'collector is failing');
    } else {
      logger.debug(data, 'collector ran');
    }
  }

  function onPolicyRun(event: Extract<OpsEvent, { type: 'policy.run' }>): void {
    const { policy, account, outcome, matched, acted, backlog, stopped, error } = event;
    const data = {
      policy,
      account,
      outcome,
      matched,
      acted,
      backlog,
      ...stopped,
      ...(error !== undefined && { error }),
    };
    // Acts are always said; what goes on as it was, once.
    const isNew = isNews(`policy ${policy}`, `${outcome} ${stopped?.guard ?? ''} ${matched > 0}`);
    if (acted > 0 && LEVEL_OF_RUN[outcome] === 'info') logger.info(data, 'policy run finished');
    else if (!isNew || (outcome === 'nothing' && matched === 0)) logger.debug(data, 'policy run finished');
    else logger[LEVEL_OF_RUN[outcome]](data, 'policy run finished');
  }

  function onChecked(event: Extract<OpsEvent, { type: 'statistics.checked' }>): void {
    const { account, against, what, statistics, other, isWrong } = event;
    const thing = `statistics ${account} ${against} ${what}`;
    const data = { account, what, statistics, [against]: other };
    const [disagree, agree] =
      against === 'day'
        ? [
            'points of the statistics do not add up to their day: see collectors.accountStats.points',
            'points of the statistics add up to their day again',
          ]
        : ['log and statistics do not agree on the last hours', 'log and statistics agree again'];
    if (!isWrong) {
      if (said.delete(thing)) logger.info(data, agree);
    } else if (isNews(thing, 'wrong')) logger.warn(data, disagree);
    else logger.debug(data, disagree);
  }

  /** Strangers come to an open address all day: of their requests only those to a hook that is configured are news. */
  function onHook({ hook, name, code, refused }: Extract<OpsEvent, { type: 'hook.answered' }>): void {
    const data = { hook, ...(name !== undefined && { name }), code, ...(refused !== undefined && { refused }) };
    const thing = `hook ${hook} ${name}`;
    if (refused === undefined && name !== undefined) said.delete(thing);
    else if (name !== undefined && refused !== 'method' && isNews(thing, String(refused))) {
      logger.warn(data, 'a hook refuses what it is sent');
      return;
    }
    logger.debug(data, 'hook answered');
  }

  function onNotice(event: Extract<OpsEvent, { type: 'notice' }>): void {
    const { type: _type, isResolved, ...data } = event;
    if (isResolved) logger.info(data, 'over');
    else logger[LEVEL_OF_SEVERITY[event.severity]](data, 'a person should know of this');
  }

  return events.subscribe((event) => {
    switch (event.type) {
      case 'api.request':
        logger.debug(event, 'request');
        return;
      case 'api.retry':
      case 'api.throttled':
      case 'api.rate_limit':
        logger.debug(event, 'client waits');
        return;
      case 'api.rows_dropped':
        logger.warn(event, 'rows of an answer were not understood and left out');
        return;
      case 'collector.finished':
        onCollector(event);
        return;
      case 'collector.skipped':
        logger.debug(event, 'collector run was skipped');
        return;
      case 'log.set_back': {
        const { account, from, to } = event;
        const data = { account, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
        logger.warn(data, 'log watermark was ahead of the local clock, reading the log again from an earlier time');
        return;
      }
      case 'telemetry.variable_ignored':
        logger.warn(
          { variable: event.variable },
          'environment variable ignored: expected key=value pairs, percent-encoded',
        );
        return;
      case 'series.refused':
        logger.warn(
          { family: event.family, limit: event.limit },
          'there are as many series as telemetry.metrics.maxSeries allows; new ones are not shown',
        );
        return;
      case 'statistics.checked':
        onChecked(event);
        return;
      case 'schedule.rearmed':
        logger.warn({ name: event.name, jumpMs: event.jumpMs }, 'the clock jumped; schedule was set anew');
        return;
      case 'credential.read':
        if (!event.isReplaced) return;
        logger.info(
          { account: event.account, credential: event.credential },
          'credential file changed; it is used from now on',
        );
        return;
      case 'spans.exported':
        said.delete('spans');
        return;
      case 'spans.waiting':
        return;
      case 'spans.dropped':
        if (isNews('spans', event.reason)) {
          logger.warn({ reason: event.reason, count: event.count }, 'spans are being dropped');
        }
        return;
      case 'deliveries.written':
        said.delete('deliveries');
        said.delete('dropped deliveries');
        return;
      case 'deliveries.dropped':
        if (isNews('dropped deliveries', 'dropped')) {
          logger.warn({ count: event.count }, 'lines about deliveries are dropped: too many wait to be written');
        }
        return;
      case 'deliveries.failing':
        // A full pipe is how a slow reader looks; what waits for it is counted.
        if (event.reason === 'EAGAIN') logger.debug({ reason: event.reason }, 'lines about deliveries wait');
        else if (isNews('deliveries', event.reason)) {
          logger.warn({ reason: event.reason }, 'lines about deliveries cannot be written; they wait in the store');
        }
        return;
      case 'policy.run':
        onPolicyRun(event);
        return;
      case 'action.outcome': {
        const { type: _type, durationMs, ...data } = event;
        logger[event.outcome === 'unknown' ? 'warn' : 'info'](
          { ...data, durationMs: Math.round(durationMs) },
          'action',
        );
        return;
      }
      case 'archive.failed':
        logger.warn(
          { policy: event.policy, account: event.account, dlqId: event.dlqId, reason: event.reason },
          'an entry was not archived; it is deleted nevertheless, since archive.require is false',
        );
        return;
      case 'campaign.changed': {
        const { type: _type, ...data } = event;
        const isTrouble = event.state === 'halted' || event.state === 'audit';
        logger[isTrouble ? 'warn' : 'info'](data, 'a campaign goes on, or halts');
        return;
      }
      case 'notice':
        onNotice(event);
        return;
      case 'engine.paused':
        logger.error(
          { scope: event.scope, reason: event.reason },
          'paused: nothing is done until a person lifts it with opsd unpause',
        );
        return;
      case 'engine.unpaused':
        logger.info({ lifted: event.lifted, reason: event.reason }, 'a person lifted the pauses');
        return;
      case 'engine.recovered':
        if (event.unknown > 0)
          logger.warn(
            { unknown: event.unknown },
            'actions of an earlier process have no known outcome; they are resolved by reading',
          );
        return;
      case 'hook.answered':
        onHook(event);
        return;
      case 'alerts.received': {
        const { type: _type, ...data } = event;
        if (event.dropped > 0) logger.warn(data, 'alerts of a notification were not understood and left out');
        else logger.debug(data, 'alerts received');
        return;
      }
      case 'callback.received':
        logger.debug(event, 'callback received');
        return;
      case 'alert.unassigned': {
        const help = `set hooks.alertmanager.${event.receiver}.withoutAccount, or add a label "account" to the alert`;
        logger.warn(
          { receiver: event.receiver, alert: event.name, help },
          'an alert without account triggers no policy',
        );
        return;
      }
      case 'policy.triggered': {
        const { policy, account, trigger } = event;
        logger.info({ policy, account, ...trigger }, 'a policy is triggered');
        return;
      }
      case 'notices.standing':
      case 'notifications.waiting':
        return;
      case 'notification.sent':
        if (said.delete(`notifications ${event.receiver}`)) {
          logger.info({ receiver: event.receiver }, 'notifications are delivered again');
        }
        return;
      case 'notification.failed':
        if (isNews(`notifications ${event.receiver}`, event.reason)) {
          logger.warn(
            { receiver: event.receiver, reason: event.reason },
            'notifications cannot be delivered; they wait',
          );
        }
        return;
      case 'notification.dropped': {
        const { type: _type, ...data } = event;
        logger.error(data, 'notifications are lost');
        return;
      }
      case 'config.reloaded':
        logger.info(
          { by: event.by },
          event.changed
            ? 'the configuration has changed; the daemon starts anew with it'
            : 'the configuration was loaded again; nothing has changed',
        );
        return;
      case 'config.reload_failed': {
        const { type: _type, ...data } = event;
        logger.error(data, 'the configuration cannot be used; the one before stays');
        return;
      }
      case 'web_config.changed':
        logger.info({ listener: event.listener }, 'the web configuration file has changed; it holds from now on');
        return;
      case 'store.failed':
        logger.error({ operation: event.operation, detail: event.message }, 'the store failed');
        return;
      case 'backup.failed':
        logger.error({ detail: event.message }, 'scheduled backup failed, keeping the previous backups');
    }
  });
}
