/** Messages that are delivered, retried, failed and canceled while the daemon that counts their log is killed. */
import { expect } from 'vitest';
import type { Answer } from './http-sink.ts';
import { ACCOUNT, losses, type Campaign, type CampaignBed } from './kill-campaign.ts';
import { logTruth, toldByMetrics, type LogTruth } from './log-truth.ts';
import { logsUntil, publish } from './service.ts';
import { until } from './until.ts';

/** Delay of late entries, and their share. More or later entries would revise durations. */
const LATE = { kind: 'late', ms: 4_000, share: 0.03 } as const;
/** After this many lives some entry was late. In fewer lives, a slow machine may read each late entry in time. */
const SURELY_LATE = 50;

/** Fails each message at `flaky` once, and those at `bad` permanently. */
export function answerMessages(): Answer {
  const tried = new Set<string>();
  return ({ url, headers }, response) => {
    const id = String(headers['svc-message-id']);
    const fails = url.startsWith('/bad') || (url.startsWith('/flaky') && !tried.has(id));
    tried.add(id);
    response.writeHead(fails ? 503 : 200).end();
  };
}

export function killedLogs({ emulator, service, sinkUrl, below, kills }: CampaignBed): Campaign<LogTruth> {
  const listing = { operations: ['list-logs'] };
  const to = (path: string, headers: Record<string, string> = {}): Promise<string> =>
    publish(service, `${sinkUrl}/${path}`, { 'Svc-Retry-Delay': '400', ...headers });
  return {
    collectors: { logs: { every: '1s', lag: '1s', sweep: { every: '2s', reach: '5s' } } },
    hasBegun: (metrics) => metrics.value('opsd_log_watermark_timestamp_seconds') !== undefined,
    faults: [
      ...losses('list-logs'),
      { ...listing, probability: 0.1, fault: { kind: 'duplicate', share: 0.3 } },
      { ...listing, fault: LATE },
    ],
    async alive() {
      await Promise.all([
        to('good'),
        to('good', { 'Svc-Delay': '1s' }),
        to('flaky', { 'Svc-Retries': '2' }),
        to('bad', { 'Svc-Retries': String(below(2)) }),
        to('later', { 'Svc-Delay': '1h' }),
      ]);
      const waiting = emulator
        .messages(ACCOUNT)
        .filter(({ state, url }) => state === 'CREATED' && url.endsWith('later'));
      if (waiting.length > 3) emulator.cancelMessage(ACCOUNT, waiting[below(waiting.length)]!.id);
    },
    async truth() {
      await until({ what: 'every message that is due has ended' }, () =>
        emulator
          .messages(ACCOUNT)
          .every(({ state, url }) => ['DELIVERED', 'FAILED', 'CANCELLED'].includes(state) || url.endsWith('later')),
      );
      return logTruth((await logsUntil(service, emulator.control.clock().now + 60_000)).toReversed());
    },
    told: toldByMetrics,
    checkStore(db, metrics) {
      const error = metrics.sum('msgsvc_message_attempt_failures_total');
      const counted = {
        created: metrics.sum('msgsvc_messages_created_total'),
        delivered: metrics.sum('msgsvc_message_attempts_total') - error,
        error,
        cancelled: metrics.sum('msgsvc_message_cancellations_total'),
        failed: metrics.sum('msgsvc_message_failures_total'),
        retried: metrics.sum('msgsvc_message_retry_delay_seconds_count'),
      };
      const sums = Object.keys(counted).map((column) => `sum(${column}) AS ${column}`);
      for (const step of [60_000, 3_600_000]) {
        expect({ ...db.prepare(`SELECT ${sums.join(', ')} FROM history WHERE step = ?`).get(step) }).toEqual(counted);
      }
    },
    check(metrics) {
      if (kills >= SURELY_LATE) expect(metrics.value('opsd_log_late_entries_total')).toBeGreaterThan(0);
      for (const doubt of [
        'log_unjoined_deliveries',
        'log_unjoined_attempts',
        'log_revised_durations',
        'messages_abandoned',
      ]) {
        expect(metrics.value(`opsd_${doubt}_total`), doubt).toBe(0);
      }
    },
  };
}
