/**
 * Statistics that continue in their own, faster time while the daemon that counts their points is killed. Up to a day
 * passes between two lives, so that the last hour is not enough and coarser points must fill the gap.
 */
import { expect } from 'vitest';
import type { Fact } from '#emulator/statistics/facts.ts';
import type { Exposition } from './exposition.ts';
import { ACCOUNT, losses, type Campaign, type CampaignBed } from './kill-campaign.ts';
import { publish, trigger } from './service.ts';

const MINUTE = 60_000;
const METRIC =
  /^msgsvc_account_(used_messages|used_workflow_messages|bandwidth_bytes|messages|workflow_messages)_total$/;

type Told = Readonly<Record<string, number>>;

export function killedStatistics({ emulator, service, sinkUrl, below }: CampaignBed): Campaign<Told> {
  const counts = new Map<string, number>();
  const operations = ['get-account-stats'];
  const add = (series: string, by: number): void => void counts.set(series, (counts.get(series) ?? 0) + by);
  const happened = (fact: Fact, times: number): void => {
    const kind = fact.workflow ? 'workflow_messages' : 'messages';
    if (fact.kind !== 'canceled') add('msgsvc_account_bandwidth_bytes_total', fact.bytes * times);
    if (fact.kind === 'attempt') add(`msgsvc_account_used_${kind}_total`, times);
    const series = fact.kind !== 'attempt' ? fact.kind : fact.outcome === 'delivered' ? 'delivered' : 'error';
    add(`msgsvc_account_${kind}_total ${series}`, times);
    if (fact.kind === 'attempt' && fact.outcome !== 'delivered') {
      add(`msgsvc_account_${kind}_total ${fact.outcome}`, times);
    }
  };
  emulator.onFact((_account, fact) => happened(fact, 1));

  /** Lets this many minutes pass, each with events. */
  async function live(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      await emulator.advance(MINUTE);
      const { now: at } = emulator.control.clock();
      const workflow = below(3) === 0;
      const outcome = (['delivered', 'delivered', 'retry', 'failed'] as const)[below(4)]!;
      const facts: Fact[] = [
        { kind: 'created', at, workflow, run: workflow, bytes: 100 },
        { kind: 'attempt', at, workflow, outcome, bytes: 50 },
        { kind: 'canceled', at, workflow },
      ];
      for (const fact of facts) {
        const times = below(20);
        if (times === 0) continue;
        emulator.statistics.record(ACCOUNT, fact, times);
        happened(fact, times);
      }
    }
  }

  return {
    collectors: { accountStats: { every: '1s' } },
    hasBegun: (metrics) => metrics.value('msgsvc_account_used_messages_total') !== undefined,
    faults: [
      ...losses('get-account-stats'),
      { operations, probability: 0.3, fault: { kind: 'duplicate', share: 0.3 } },
      // At most as late as the settle time.
      { operations, fault: { kind: 'late', ms: 150_000, share: 0.3 } },
    ],
    async alive() {
      await publish(service, `${sinkUrl}/good`);
      await trigger(service, `${sinkUrl}/bad`, { 'Svc-Retries': '0' });
      await live(1 + below(4));
    },
    async dead() {
      await live(below(4) === 0 ? below(24 * 60) : below(3));
    },
    async truth() {
      await emulator.advance(5 * MINUTE);
      return Object.fromEntries(counts);
    },
    told: (metrics) =>
      Object.fromEntries(
        metrics.samples
          .filter(({ name, value }) => METRIC.test(name) && value > 0)
          .map(({ name, labels, value }) => [[name, labels['series']].filter(Boolean).join(' '), value]),
      ),
    check(metrics: Exposition) {
      expect(metrics.sum('opsd_stats_points_missed_total')).toBe(0);
      expect(metrics.sum('opsd_stats_points_backfilled_total')).toBeGreaterThan(60);
    },
  };
}
