/**
 * Collects statistics of the account and of its vector indexes. Gauges show the response unchanged. Counters are
 * committed before the batch is published. The collector reads the last hour, the period with the finest points. After
 * a gap it reads coarser periods and then the last hour again, so that no coarse value is newer than the fine values.
 */
import type { Answer, ManagementApi } from '#service/api.ts';
import type { AccountStats, PointsCheck, StatsPeriod } from '#foundation/domain/statistics.ts';
import { aggregateAccount, periodsOf } from '../aggregation/account-aggregation.ts';
import { aggregateIndex } from '../aggregation/month-counters.ts';
import { checkPoints } from '../aggregation/points-check.ts';
import { reconcile } from '../aggregation/reconcile.ts';
import type { SeriesRecord } from '../aggregation/series-store.ts';
import { spendOf } from '../aggregation/spend.ts';
import { collectorOf, type Collected, type CollectorContext } from './collector.ts';
import { readEach } from './read-all.ts';
import { timing } from './settings.ts';

const CHECK_EVERY_MS = 3_600_000;

export const accountStats = collectorOf({
  name: 'accountStats',
  api: 'management',
  lacks: ({ accountId }) => (accountId === undefined ? 'no managementApi.accountId configured' : undefined),
  collect: collectAccount,
});

async function collectAccount(
  api: ManagementApi,
  context: CollectorContext<'accountStats'>,
): Promise<Collected<'accountStats'>> {
  const { target, signal, clock, stores } = context;
  const { account, settings } = target;
  const subject = target.accountId!;
  const { settleDelay, points } = settings.accountStats;
  const records = await stores.series.loadSeries(account, [subject]);
  const read = (period: StatsPeriod) => api.getAccountStats(subject, period, { signal });
  let answer = await read('1h');
  const coarse: { readonly period: StatsPeriod; readonly stats: AccountStats }[] = [];
  for (const period of periodsOf(records, answer.value, answer.servedAt ?? clock.now())) {
    coarse.push({ period, stats: (await read(period)).value });
  }
  if (coarse.length > 0) answer = await read('1h');
  const { value: fine, servedAt = clock.now() } = answer;
  const { increments, aggregated, days, ...rest } = aggregateAccount({
    subject,
    records,
    fine,
    coarse,
    servedAt,
    settleMs: settleDelay,
    intervalMs: timing('accountStats', settings).intervalMs,
    meaning: points,
    label: (series) => context.admit('series', series),
  });
  signal.throwIfAborted();
  const began = logSince(records) === undefined ? (await stores.log.loadLogState(account)).watermark : undefined;
  const mark = { subject, source: LOG_SINCE, series: '', record: String(began) };
  await stores.series.commitSeries({
    account,
    increments,
    records: [...rest.records, ...(began === undefined ? [] : [mark])],
  });
  const after = await stores.series.loadSeries(account, [subject]);
  const { watermark, entryMode } = await stores.log.loadLogState(account);
  const hours = await stores.log.hourCounts(account);
  const since = logSince(after);
  // If the log has one entry per message, the entries of an hour change after it.
  const reconciled =
    watermark !== undefined && since !== undefined && entryMode === 'transitions'
      ? reconcile({
          records: after,
          log: { since, watermark },
          hours,
          lateMs: settings.logs.sweep.reach + settings.logs.sweep.every,
        })
      : undefined;
  const pointsCheck = await checkedPoints(context, servedAt, read);
  const spend = spendOf(fine, days, { at: servedAt, budgetUsd: await context.budgetUsd?.() });
  return {
    rows: [{ ...fine, aggregated, spend, ...(reconciled && { reconciled }), ...(pointsCheck && { pointsCheck }) }],
    dropped: answer.dropped + rest.dropped,
  };
}

/**
 * Source name of the record of the log's start of counting, as this collector first saw it. Earlier hours are
 * incomplete.
 */
const LOG_SINCE = 'log_since';

function logSince(records: readonly SeriesRecord[]): number | undefined {
  const since = Number(records.find(({ source }) => source === LOG_SINCE)?.record ?? NaN);
  return Number.isFinite(since) ? since : undefined;
}

/**
 * Checks the points once an hour, from the second run on. If the request fails, the last check stays valid and the
 * batch is published.
 */
async function checkedPoints(
  { previous, target, signal }: CollectorContext<'accountStats'>,
  servedAt: number,
  read: (period: StatsPeriod) => Promise<Answer<AccountStats>>,
): Promise<PointsCheck | undefined> {
  if (previous === undefined) return undefined;
  const before = previous.rows[0]?.pointsCheck;
  if (before !== undefined && servedAt - before.at < CHECK_EVERY_MS && servedAt >= before.at) return before;
  try {
    const { value, servedAt: at = servedAt } = await read('1d');
    return checkPoints(value, at, target.settings.accountStats.points) ?? before;
  } catch {
    signal.throwIfAborted();
    return before;
  }
}

export const vectorStats = collectorOf({
  name: 'vectorStats',
  api: 'management',
  lacks: ({ vectorIndexes }) => (vectorIndexes.length === 0 ? 'no vector indexes configured' : undefined),
  async collect(api, { target, signal, clock, stores }) {
    const { account } = target;
    const read = await readEach(signal, target.vectorIndexes, async (index, joined) => {
      const { value, dropped, servedAt = clock.now() } = await api.getVectorStats(index, '1h', { signal: joined });
      return { value: { stats: value, servedAt }, dropped };
    });
    const records = await stores.series.loadSeries(account, target.vectorIndexes);
    const aggregations = read.rows.map(({ stats, servedAt }) => aggregateIndex(records, stats, servedAt));
    await stores.series.commitSeries({
      account,
      increments: aggregations.flatMap(({ increments }) => increments),
      records: aggregations.flatMap(({ records }) => records),
    });
    return { rows: read.rows.map(({ stats }) => stats), dropped: read.dropped };
  },
});
