/** Chart and figures of the first page: how deliveries went, and the numbers of now beside their usual range. */
import { formatCount, formatUsd } from '#foundation/domain/counted.ts';
import type { ApiDeps, LedgerReader } from '../api/api-deps.ts';
import { historyView, type HistoryAsked } from '../api/history.ts';
import { readSpend } from '../api/spend.ts';
import { HISTORY_SPANS, type HistorySpan, type HistoryView } from '../contract/history.ts';
import type { SpendView } from '../contract/readings.ts';
import {
  bars,
  empty,
  figures,
  timeChart,
  trend,
  type Cell,
  type ChartValues,
  type Figures,
  type Look,
} from '#foundation/markup/cell.ts';

const DEFAULT: HistorySpan = '3h';

export const SPANS = [
  { value: undefined, title: 'last 3 h' },
  ...HISTORY_SPANS.filter((span) => span !== DEFAULT).map((span) => ({
    value: span,
    title: `last ${span.replace(/(?=[hd])/, ' ')}`,
  })),
];

export function spanOf(query: URLSearchParams): HistorySpan {
  return HISTORY_SPANS.find((span) => span === query.get('span')) ?? DEFAULT;
}

interface NowHistory {
  readonly history: HistoryView;
  /** Failed runs in the workflow DLQ now; undefined if one of the accounts has no fresh reading. */
  readonly failedRuns: number | undefined;
  readonly spend: SpendView;
}

/** @param ledger view of the ledger that the status has, too */
export async function readHistory(deps: ApiDeps, asked: HistoryAsked, ledger: LedgerReader): Promise<NowHistory> {
  const [history, spend] = await Promise.all([historyView(deps, asked, ledger), readSpend(deps, asked, ledger)]);
  return { history, spend, failedRuns: failedRunsOf(deps, asked.account) };
}

function failedRunsOf({ accounts, board }: ApiDeps, account: string | undefined): number | undefined {
  const counts = accounts
    .filter(({ name, messageApiUrl }) => messageApiUrl !== undefined && (account === undefined || name === account))
    .map(({ name }) => board.fresh(name, 'workflowDlq')?.rows.length);
  return counts.length === 0 || counts.includes(undefined) ? undefined : sum(counts);
}

export function charts(read: NowHistory | undefined): Cell {
  if (read === undefined) return empty('The store cannot be read, so the history is unknown.');
  const history = sinceKnown(read.history);
  return [deliveries(history), figuresOf({ ...read, history })];
}

const MARK_LOOK: Readonly<Record<HistoryView['marks'][number]['kind'], Look>> = {
  incident: 'trouble',
  configuration: 'faint',
  deploy: 'busy',
  halt: 'attention',
  repair: 'busy',
};

const STEP_NAME: Readonly<Record<number, string>> = { 60_000: 'minute', 600_000: '10 minutes', 3_600_000: 'hour' };

function deliveries({ from, stepMs, series, marks }: HistoryView): Cell {
  return timeChart({
    title: `Deliveries per ${STEP_NAME[stepMs] ?? '6 hours'}`,
    from,
    stepMs,
    isStacked: true,
    format: formatCount,
    series: [
      { name: 'delivered', look: 'ok', shape: 'area', values: series.delivered },
      { name: 'retried', look: 'attention', shape: 'area', values: series.retried },
      { name: 'failed', look: 'trouble', shape: 'area', values: series.failed },
    ],
    marks: marks.map(({ at, kind, text, path }) => ({ at, look: MARK_LOOK[kind], text, path })),
  });
}

/** A daemon that knows only the last minutes shows these, and not hours of nothing. */
const LEAST_POINTS = 15;

function sinceKnown(history: HistoryView): HistoryView {
  const { delivered } = history.series;
  const known = delivered.findIndex((value) => value !== null);
  const first = Math.max(0, Math.min(known === -1 ? Infinity : known - 1, delivered.length - LEAST_POINTS));
  const entries = Object.entries(history.series).map(([name, values]) => [name, values.slice(first)]);
  const series = Object.fromEntries(entries) as HistoryView['series'];
  return { ...history, from: history.from + first * history.stepMs, series };
}

function figuresOf({ history: { series }, spend, failedRuns }: NowHistory): Figures {
  const failed = sum(series.failed);
  // Minutes from the statistics have no number of failed messages.
  const ended = failed + sum(series.delivered.filter((_value, index) => series.failed[index] !== null));
  const again = sum(series.failedAgain);
  return figures([
    {
      name: 'Delivered',
      value: ended === 0 ? '–' : percent((ended - failed) / ended),
      note: ended === 0 ? 'no message ended' : `${formatCount(failed)} failed of ${formatCount(ended)}`,
      spark: trend(series.delivered, 'Delivered messages', 'ok'),
      path: '/messages',
    },
    {
      name: 'Time to deliver, p95',
      ...reading(series.p95Seconds, seconds),
      spark: trend(series.p95Seconds, '95th percentile of the time to deliver'),
    },
    {
      name: 'In flight',
      ...reading(series.inFlight, formatCount),
      spark: trend(series.inFlight, 'Messages in flight'),
      path: '/flow-control',
    },
    {
      name: 'Failed runs',
      ...reading(series.failedRuns, formatCount, failedRuns),
      spark: trend(series.failedRuns, 'Failed runs in the DLQ', 'trouble'),
      path: '/dead-letters?queue=workflow',
    },
    {
      name: 'Repaired',
      value: formatCount(sum(series.verified)),
      note: `${formatCount(again)} failed again`,
      spark: bars(series.verified, 'Verified repairs', 'busy'),
      path: '/policies',
    },
    spendFigure(series.spendUsd, spend),
  ]);
}

function sum(values: readonly (number | null | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/** Never rounded up to 100 %. */
function percent(share: number): string {
  return `${(Math.floor(share * 1_000) / 10).toFixed(1)} %`;
}

function seconds(value: number): string {
  return value < 10 ? `${value.toFixed(1)} s` : `${formatCount(Math.round(value))} s`;
}

/** Value of now, else the last known one, with the middle half of all as its usual range. */
function reading(
  values: ChartValues,
  format: (value: number) => string,
  now?: number,
): { value: string; note: string } {
  const known = values.filter((value) => value !== null);
  const last = now ?? known.at(-1);
  if (last === undefined) return { value: '–', note: 'not known yet' };
  if (known.length === 0) return { value: format(last), note: 'no history yet' };
  const sorted = known.toSorted((a, b) => a - b);
  const [low, high] = [0.25, 0.75].map((share) => format(sorted[Math.floor(share * (sorted.length - 1))]!));
  return { value: format(last), note: low === high ? `usually ${low}` : `usually ${low} to ${high}` };
}

function spendFigure(values: ChartValues, { accounts }: SpendView): NonNullable<Figures['rows'][number]> {
  const of = { name: 'Spend of the month', spark: trend(values, 'Spend of the month'), path: '/spend' };
  const spent = accounts.map(({ monthUsd }) => monthUsd);
  if (spent.length === 0 || spent.includes(undefined)) return { ...of, value: '–', note: 'not known' };
  const total = sum(spent);
  const budgets = accounts.map(({ budget }) => budget?.knownUsd);
  const forecasts = accounts.map(({ forecastUsd }) => forecastUsd);
  const forecast = forecasts.includes(undefined) ? '' : `, forecast ${formatUsd(sum(forecasts))}`;
  if (budgets.some((value) => value === undefined || value === null))
    return { ...of, value: formatUsd(total), note: `no budget known${forecast}` };
  return { ...of, value: formatUsd(total), note: `of ${formatUsd(sum(budgets))}${forecast}` };
}
