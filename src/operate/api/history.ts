/** History of one account, or of all together, for charts on pages and in the API. */
import { deployText } from '#foundation/domain/deploy.ts';
import { durationQuantile } from '#foundation/domain/delivery-durations.ts';
import type { Timeline, TimelinePoint } from '#automate/ledger/timeline.ts';
import type { NamedSeries } from '#foundation/domain/statistics.ts';
import { getHistory, type HistoryMark, type HistorySpan, type HistoryView } from '../contract/history.ts';
import { incidentPath, policyPath } from '../contract/page-paths.ts';
import type { ApiDeps, ApiRoute, LedgerReader } from './api-deps.ts';
import { fromStore } from './from-store.ts';
import { implement } from './implement.ts';
import { knownAccount } from './known-account.ts';
import { changedParts } from '../situation/incident-story.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Length of the period and of its points. */
const SPANS: Readonly<Record<HistorySpan, { readonly spanMs: number; readonly stepMs: number }>> = {
  '1h': { spanMs: HOUR_MS, stepMs: MINUTE_MS },
  '3h': { spanMs: 3 * HOUR_MS, stepMs: MINUTE_MS },
  '24h': { spanMs: 24 * HOUR_MS, stepMs: 10 * MINUTE_MS },
  '7d': { spanMs: 168 * HOUR_MS, stepMs: HOUR_MS },
  '35d': { spanMs: 840 * HOUR_MS, stepMs: 6 * HOUR_MS },
};
/** Accounts above which 24 h are read by the hour: the minutes of a day are 1,440 rows an account, and take 5 ms. */
const MOST_BY_MINUTE = 4;
const MOST_MARKS = 30;
const MOST_KEYS = 10;

type HistoryDeps = Pick<ApiDeps, 'clock' | 'accounts' | 'board'> & {
  readonly ledger: Pick<ApiDeps['ledger'], 'view'>;
  readonly incidents: Pick<ApiDeps['incidents'], 'all' | 'marks'>;
};

export interface HistoryAsked {
  readonly account?: string | undefined;
  readonly span: HistorySpan;
  readonly signal?: AbortSignal;
}

/**
 * Only whole points are shown, since a part of one would look like a fall.
 *
 * @param view view of the ledger; default: one of its own
 * @throws if the store cannot be read
 */
export async function historyView(
  deps: HistoryDeps,
  { account, span, signal }: HistoryAsked,
  view?: Pick<LedgerReader, 'timeline'>,
): Promise<HistoryView> {
  const at = deps.clock.now();
  const accounts = deps.accounts
    .filter(({ name }) => account === undefined || name === account)
    .map(({ name, messageApiUrl, managementApiUrl }) => ({
      name,
      hasLog: messageApiUrl !== undefined,
      hasSpend: managementApiUrl !== undefined,
    }));
  const { spanMs, stepMs: usual } = SPANS[span];
  const stepMs = accounts.length > MOST_BY_MINUTE && span === '24h' ? HOUR_MS : usual;
  const to = Math.floor(at / stepMs) * stepMs;
  const period = { from: to - spanMs, to, stepMs };
  const query = { ...period, accounts };
  const timeline = await (view === undefined
    ? deps.ledger.view((ledger) => ledger.timeline(query), signal)
    : view.timeline(query));
  return {
    at,
    ...period,
    series: seriesOf(timeline, period, statisticsOf(deps, accounts, period)),
    flowControl: flowControlOf(timeline, period),
    marks: marksOf(deps, timeline, { ...period, to: at, accounts: accounts.map(({ name }) => name) }),
  };
}

interface Period {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
}

type FromStatistics = ReadonlyMap<string, ReadonlyMap<number, number>>;

/**
 * Minutes of the last hour from the statistics of the service, which need no history: the sums of all accounts. A minute
 * that one of them lacks is absent. They include canaries, and they can still change for some minutes.
 */
function statisticsOf(
  { board }: Pick<HistoryDeps, 'board'>,
  accounts: readonly { readonly name: string }[],
  { stepMs }: Period,
): FromStatistics {
  if (stepMs !== MINUTE_MS) return new Map();
  const readings = accounts.map(({ name }) => board.fresh(name, 'accountStats'));
  return new Map(
    (['created', 'delivered'] as const).map((id) => {
      const series = readings.map((reading) => {
        const { messages, workflowMessages } = reading?.rows[0] ?? {};
        if (reading === undefined || messages === undefined || workflowMessages === undefined) return undefined;
        const own = [...messages, ...workflowMessages].filter((one) => one.id.toLowerCase() === id);
        return sumsByMinute(own, reading.at);
      });
      const [first, ...others] = series;
      const shared = [...(first ?? [])].filter(([at]) => others.every((of) => of?.has(at) === true));
      return [id, new Map(shared.map(([at]) => [at, series.reduce((sum, of) => sum + of!.get(at)!, 0)]))];
    }),
  );
}

/** Sums of the minutes that had ended when they were read; undefined for points of longer periods. */
function sumsByMinute(series: readonly NamedSeries[], readAt: number): ReadonlyMap<number, number> | undefined {
  const sums = new Map<number, number>();
  for (const { points } of series) {
    for (const [index, { at, value }] of points.entries()) {
      if (at - (points[index - 1]?.at ?? at) > MINUTE_MS) return undefined;
      const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
      if (minute + MINUTE_MS <= readAt) sums.set(minute, (sums.get(minute) ?? 0) + value);
    }
  }
  return sums;
}

function seriesOf(
  { points, counted, repairs }: Timeline,
  period: Period,
  statistics: FromStatistics,
): HistoryView['series'] {
  const starts = startsOf(period);
  const known = new Map(points.map((point) => [point.at, point]));
  const repaired = new Map(repairs.map((point) => [point.at, point]));
  const isCounted = (at: number): boolean =>
    counted !== undefined && at >= counted.from && at + period.stepMs <= counted.to;
  const isBefore = (at: number): boolean => at < (counted?.from ?? Infinity);
  const sums = (name: 'created' | 'delivered' | 'failed' | 'retried') =>
    starts.map((at) => {
      if (isCounted(at)) return known.get(at)?.[name] ?? 0;
      return (isBefore(at) ? statistics.get(name)?.get(at) : undefined) ?? null;
    });
  const readings = (name: keyof TimelinePoint & ('inFlight' | 'failedRuns' | 'deadLetters' | 'spendUsd')) =>
    starts.map((at) => known.get(at)?.[name] ?? null);
  return {
    created: sums('created'),
    delivered: sums('delivered'),
    failed: sums('failed'),
    retried: sums('retried'),
    p95Seconds: starts.map((at) =>
      isCounted(at) ? (durationQuantile(known.get(at)?.durations ?? [], 0.95) ?? null) : null,
    ),
    inFlight: readings('inFlight'),
    failedRuns: readings('failedRuns'),
    deadLetters: readings('deadLetters'),
    spendUsd: readings('spendUsd'),
    // The ledger has every action of the daemon.
    verified: starts.map((at) => repaired.get(at)?.verified ?? 0),
    failedAgain: starts.map((at) => repaired.get(at)?.failedAgain ?? 0),
  };
}

function startsOf({ from, to, stepMs }: Period): number[] {
  return Array.from({ length: (to - from) / stepMs }, (_, index) => from + index * stepMs);
}

/** A key that a complete reading does not list has no waiting messages. */
function flowControlOf({ flowControl }: Timeline, period: Period): HistoryView['flowControl'] {
  const byPoint = Map.groupBy(flowControl, ({ at }) => at - ((at - period.from) % period.stepMs));
  const highest = new Map<string, number>();
  for (const { keys } of flowControl) {
    for (const [key, messages] of keys) highest.set(key, Math.max(messages, highest.get(key) ?? 0));
  }
  const shown = [...highest].toSorted((a, b) => b[1] - a[1]).slice(0, MOST_KEYS);
  return shown.map(([flowControlKey]) => ({
    flowControlKey,
    waitListSize: startsOf(period).map((start) => {
      const known = (byPoint.get(start) ?? []).flatMap(({ keys, isCut }) => {
        const listed = keys.find(([key]) => key === flowControlKey);
        return listed === undefined ? (isCut ? [] : [0]) : [listed[1]];
      });
      return known.length === 0 ? null : Math.max(...known);
    }),
  }));
}

function marksOf(
  { incidents }: HistoryDeps,
  { campaigns, pauses, deploys }: Timeline,
  { from, to, accounts }: Period & { readonly accounts: readonly string[] },
): HistoryMark[] {
  const isOf = (one: { readonly account: string }): boolean => accounts.includes(one.account);
  const marks: HistoryMark[] = [
    ...incidents
      .all()
      .filter(isOf)
      .map(({ id, firstAt, place, reason }) => ({
        at: firstAt,
        kind: 'incident' as const,
        text: `first failure: ${place}, ${reason}`,
        path: incidentPath(id),
      })),
    ...incidents.marks().map(({ at, kind, detail }) => ({
      at,
      kind: 'configuration' as const,
      text: kind === 'version' ? `version ${detail} started` : configurationText(detail),
      path: '/configuration',
    })),
    ...campaigns
      .filter(isOf)
      .flatMap(({ policy, begunAt, haltedAt }): HistoryMark[] => [
        { at: begunAt, kind: 'repair', text: `${policy} began a campaign`, path: policyPath(policy) },
        ...(haltedAt === undefined
          ? []
          : [{ at: haltedAt, kind: 'halt' as const, text: `${policy} halted a campaign`, path: policyPath(policy) }]),
      ]),
    ...deploys.map((deploy) => ({
      at: deploy.at,
      kind: 'deploy' as const,
      text: deployText(deploy),
      ...(deploy.url !== undefined && { path: deploy.url }),
    })),
    ...pauses.map(({ at, scope, by }) => ({ at, kind: 'halt' as const, text: `${pausedText(scope)} paused by ${by}` })),
  ];
  return marks
    .filter(({ at }) => at >= from && at <= to)
    .toSorted((a, b) => a.at - b.at)
    .slice(-MOST_MARKS);
}

function configurationText(detail: string): string {
  const changed = changedParts(detail);
  return changed === undefined ? 'configuration loaded' : `configuration changed: ${changed}`;
}

/** Group names may contain a secret of a URL, and are left out. */
function pausedText(scope: string): string {
  const [kind = '', policy = ''] = scope.split('/');
  return kind === 'group' ? `a group of policy ${policy}` : kind === 'policy' ? `policy ${policy}` : 'the engine';
}

export const historyRoute: ApiRoute = implement(getHistory, ({ deps, query: { account, span }, signal }) =>
  fromStore(() => historyView(deps, { account: knownAccount(deps, account), span, signal })),
);
