/** Reads the history for charts. The database sums it up: a page gets one row for each point, for any number of accounts. */
import type { Campaign } from '#foundation/domain/campaign.ts';
import { DELIVERY_DURATION_BOUNDS } from '#foundation/domain/delivery-durations.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { Timeline, TimelinePoint, TimelineQuery, TimelineReader } from '#automate/ledger/timeline.ts';
import { all, get, records, type Dialect, type Row, type Work } from './database.ts';
import { deployOf, selectDeploys } from './ledger-deploys.ts';
import type { Journal } from './ledger-journal.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const DURATIONS = [...DELIVERY_DURATION_BOUNDS, Infinity].map((_bound, index) => `d${index}`);
const SUMS = ['created', 'delivered', 'failed', 'retried', ...DURATIONS];
/** Columns of readings, their properties, and the accounts that can have them. */
const READINGS = [
  ['in_flight', 'inFlight', 'hasLog'],
  ['failed_runs', 'failedRuns', 'hasLog'],
  ['dead_messages', 'deadLetters', 'hasLog'],
  ['spend_usd', 'spendUsd', 'hasSpend'],
] as const;

/** Number of a time's point. SQLite would divide by a fraction: the driver's numbers are real ones. */
const point = (at: string): string => `(${at} - CAST(?1 AS BIGINT)) / CAST(?2 AS BIGINT)`;

/** Returns the queries by name: `?1` and `?3` are the period, `?2` is the length of a point, `?4` the accounts. */
export function timelineQueries({ members }: Dialect) {
  const accounts = `account IN ${members('?4')}`;
  const readings = READINGS.map(([column]) => column);
  const highest = readings.map((column) => `max(${column}) AS ${column}`);
  const sums = SUMS.map((column) => `sum(${column}) AS ${column}`).join(', ');
  return {
    points: `SELECT point, ${sums}, ${readings.map((column) => `sum(${column}) AS ${column}, count(${column}) AS of_${column}`).join(', ')}
      FROM (
        SELECT account, ${point('at')} AS point, ${sums}, ${highest.join(', ')} FROM history
        WHERE ${accounts} AND step = ?5 AND at >= ?1 AND at < ?3 GROUP BY account, ${point('at')}
      ) AS of_accounts GROUP BY point ORDER BY point`,
    counted: `SELECT count(attempts_since) AS accounts, max(attempts_since) AS since, min(watermark) AS watermark
      FROM log_aggregation WHERE account IN ${members('?1')}`,
    repairs: `SELECT ${point('o.at')} AS point, sum(CASE WHEN o.outcome = 'verified' THEN 1 ELSE 0 END) AS verified, count(*) AS repairs
      FROM outcomes o JOIN intents i ON i.id = o.intent_id
      WHERE o.outcome IN ('verified', 'failed_again') AND o.at >= ?1 AND o.at < ?3 AND i.account IN ${members('?4')}
      GROUP BY ${point('o.at')} ORDER BY 1`,
    flowControl: `SELECT at, flow_control FROM history
      WHERE account = ? AND step = ? AND at >= ? AND at < ? AND flow_control IS NOT NULL ORDER BY at`,
    campaigns: 'SELECT record FROM campaigns WHERE begun_at >= ? ORDER BY begun_at DESC LIMIT 100',
    pauses: 'SELECT scope, reason, at, by FROM pauses WHERE at >= ? ORDER BY id DESC LIMIT 100',
  };
}

export function createTimeline({ database }: Pick<Journal, 'database'>): TimelineReader {
  const queries = timelineQueries(database.dialect);
  const deploys = selectDeploys(database.dialect);

  function* read({ accounts, from, to, stepMs }: TimelineQuery): Work<Timeline> {
    const names = JSON.stringify(accounts.map(({ name }) => name));
    const logs = accounts.filter(({ hasLog }) => hasLog).map(({ name }) => name);
    const step = stepMs % HOUR_MS === 0 ? HOUR_MS : MINUTE_MS;
    const points = yield* all(queries.points, from, stepMs, to, names, step);
    const counted = yield* get(queries.counted, JSON.stringify(logs));
    const repairs = yield* all(queries.repairs, from, stepMs, to, names);
    const [account, ...others] = accounts;
    const flowControl =
      account === undefined || others.length > 0 ? [] : yield* all(queries.flowControl, account.name, step, from, to);
    return {
      points: points.map((row) => pointOf(row, { accounts, from, to, stepMs })),
      counted:
        logs.length > 0 && counted?.['accounts'] === logs.length
          ? { from: Number(counted['since']), to: Number(counted['watermark']) }
          : undefined,
      repairs: repairs.map(({ point, verified, repairs: count }) => ({
        at: from + Number(point) * stepMs,
        verified: Number(verified),
        failedAgain: Number(count) - Number(verified),
      })),
      flowControl: flowControl.map(({ at, flow_control: keys }) => ({
        at: Number(at),
        ...(JSON.parse(String(keys)) as Pick<Timeline['flowControl'][number], 'keys' | 'isCut'>),
      })),
      campaigns: yield* records<Campaign>(queries.campaigns, from),
      pauses: yield* all<Pause>(queries.pauses, from),
      deploys: (yield* all(deploys, names, from)).map(deployOf),
    };
  }

  return { timeline: (query) => database.read(read(query)) };
}

function pointOf(row: Row, { accounts, from, stepMs }: TimelineQuery): TimelinePoint {
  const known = READINGS.filter(([column, , has]) => {
    const expected = accounts.filter((account) => account[has]).length;
    return expected > 0 && Number(row[`of_${column}`]) >= expected;
  });
  return {
    at: from + Number(row['point']) * stepMs,
    created: Number(row['created']),
    delivered: Number(row['delivered']),
    failed: Number(row['failed']),
    retried: Number(row['retried']),
    durations: DURATIONS.map((column) => Number(row[column])),
    ...Object.fromEntries(known.map(([column, name]) => [name, Number(row[column])])),
  };
}
