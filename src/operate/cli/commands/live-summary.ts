/** Terminal output of `opsd demo`: the addresses, and the current state in a few lines. Pure. */
import { formatDuration } from '#foundation/domain/duration.ts';
import { painter, printable, type Style } from '../output.ts';

export interface BannerData {
  readonly version: string;
  /** Description of the running program: `the daemon over the embedded service`. */
  readonly what: string;
  readonly addresses: readonly { readonly label: string; readonly href: string }[];
  /** Last lines, such as how to stop it. */
  readonly hints?: readonly string[];
}

/** Subset of the server's `Status` (`/api/v1/status`), and counts. Times are epoch milliseconds. */
export interface SummaryData {
  readonly at: number;
  readonly startedAt: number;
  readonly verdict: { readonly level: 'trouble' | 'attention' | 'starting' | 'info' | 'ok'; readonly sentence: string };
  /** Counts, most important first: `{ label: 'delivered', value: 1204 }`. */
  readonly figures: readonly { readonly label: string; readonly value: number }[];
  readonly sources: readonly { readonly account: string; readonly collector: string; readonly state: string }[];
  readonly policies: readonly {
    readonly name: string;
    readonly effectiveMode: string;
    readonly nextRunAt?: number;
    readonly held?: { readonly guard: string; readonly since: number };
    readonly pending?: { readonly count: number };
    /** Campaigns that have not ended. */
    readonly campaigns: readonly {
      readonly group: string;
      readonly state: string;
      readonly step: number;
      readonly size: number;
      readonly verified: number;
      readonly judged: number;
      readonly until?: number;
    }[];
    readonly lastRun?: {
      readonly at: number;
      readonly outcome: string;
      readonly matched: number;
      readonly acted: number;
    };
  }[];
  /** Active conditions, most severe first: holds, halted groups, pending plans. */
  readonly conditions: readonly { readonly key: string; readonly summary: string; readonly since: number }[];
  /** Newest first. */
  readonly actions: readonly {
    readonly at: number;
    readonly policy: string;
    readonly action: string;
    readonly target: string;
    readonly outcome: string;
  }[];
}

/** Limits that fit a terminal of 24 lines: a longer summary would scroll. */
const MAX_CONDITIONS = 2;
const MAX_POLICIES = 6;
const MAX_CAMPAIGNS = 3;
const MAX_ACTIONS = 4;

type Paint = (style: Style, text: string) => string;

/** Addresses, one on each line, so that a terminal makes them links. Ends with a newline. */
export function renderBanner(data: BannerData, color: boolean): string {
  const paint = painter(color);
  const width = Math.max(0, ...data.addresses.map(({ label }) => label.length));
  return [
    `${paint('bold', `opsd ${data.version}`)}  ${data.what}`,
    '',
    ...data.addresses.map(({ label, href }) => `  ${label.padEnd(width)}  ${paint('cyan', href)}`),
    '',
    ...(data.hints ?? []).map((hint) => paint('dim', hint)),
  ]
    .map((text) => `${text}\n`)
    .join('');
}

/**
 * Summary as lines of at most `width` columns, so that it can be redrawn in place. Ends with a newline.
 *
 * @param width columns of the terminal
 */
export function renderSummary(data: SummaryData, width: number, color: boolean): string {
  const paint = painter(color);
  const lines: Segment[][] = [
    verdictLine(data),
    figuresLine(data),
    sourcesLine(data),
    ...conditionLines(data),
    ...data.policies.slice(0, MAX_POLICIES).map((policy) => policyLine(policy, data)),
    ...campaignLines(data),
    ...data.actions.slice(0, MAX_ACTIONS).map((action) => actionLine(action, data.at)),
  ];
  return lines
    .filter((segments) => segments.length > 0)
    .map((segments) => `${fit(segments, width, paint)}\n`)
    .join('');
}

/** Piece of a line: truncated by its plain length, then painted. */
interface Segment {
  readonly text: string;
  readonly style?: Style;
}

const LEVELS = {
  trouble: { mark: '■', style: 'red' },
  attention: { mark: '▲', style: 'yellow' },
  starting: { mark: '○', style: 'cyan' },
  info: { mark: '●', style: 'cyan' },
  ok: { mark: '●', style: 'green' },
} as const;

function verdictLine(data: SummaryData): Segment[] {
  const { mark, style } = LEVELS[data.verdict.level];
  const up = formatDuration(Math.max(0, data.at - data.startedAt));
  return [
    { text: `${mark} ${data.verdict.sentence}`, style },
    { text: `  up ${up}`, style: 'dim' },
  ];
}

function figuresLine(data: SummaryData): Segment[] {
  return data.figures.flatMap(({ label, value }, index) => [
    { text: `${index === 0 ? '  ' : '   '}${value.toLocaleString('en-US')}`, style: 'bold' as const },
    { text: ` ${label}` },
  ]);
}

function sourcesLine(data: SummaryData): Segment[] {
  const states = Map.groupBy(data.sources, (source) => source.state);
  const counts = [...states].map(([state, sources]) => `${sources.length} ${state}`);
  return counts.length === 0 ? [] : [{ text: '  sources   ', style: 'dim' }, { text: counts.join(', ') }];
}

function conditionLines({ conditions, at }: SummaryData): Segment[][] {
  const lines = conditions.slice(0, MAX_CONDITIONS).map(({ summary, since }): Segment[] => [
    { text: '  active    ', style: 'dim' },
    { text: summary, style: 'yellow' },
    { text: `  ${ago(since, at)}`, style: 'dim' },
  ]);
  const more = conditions.length - lines.length;
  return more > 0 ? [...lines, [{ text: `            and ${more} more`, style: 'dim' }]] : lines;
}

/** Lines of campaigns, halted ones first. */
function campaignLines({ policies, at }: SummaryData): Segment[][] {
  const campaigns = policies
    .flatMap((policy) => policy.campaigns.map((campaign) => ({ ...campaign, policy: policy.name })))
    .toSorted((a, b) => Number(isStopped(b.state)) - Number(isStopped(a.state)));
  const lines = campaigns.slice(0, MAX_CAMPAIGNS).map((campaign): Segment[] => {
    const { policy, group, state, step, verified, judged, until } = campaign;
    const wait = until === undefined || until <= at ? '' : ` for ${formatDuration(until - at)}`;
    const known = judged === 0 ? 'no results yet' : `${verified} of ${judged} verified`;
    return [
      { text: '  campaign  ', style: 'dim' },
      { text: `${policy} `, style: 'bold' },
      { text: `step ${step} ` },
      { text: `${state}${wait}`, style: isStopped(state) ? 'red' : 'green' },
      { text: `, ${known}  ` },
      { text: group, style: 'dim' },
    ];
  });
  const more = campaigns.length - lines.length;
  return more > 0 ? [...lines, [{ text: `            and ${more} more groups`, style: 'dim' }]] : lines;
}

function isStopped(state: string): boolean {
  return state === 'halted' || state === 'audit';
}

function policyLine(policy: SummaryData['policies'][number], data: SummaryData): Segment[] {
  const { lastRun, nextRunAt, held, pending } = policy;
  const hold = held === undefined ? '' : ` by ${held.guard} for ${formatDuration(Math.max(0, data.at - held.since))},`;
  const last =
    lastRun === undefined
      ? 'has not run'
      : `${lastRun.outcome.replaceAll('_', ' ')}${lastRun.outcome === 'held' ? hold : ''} ${ago(lastRun.at, data.at)} (${lastRun.matched} matched, ${lastRun.acted} acted on)`;
  const next = nextRunAt === undefined ? '' : `, next in ${formatDuration(Math.max(0, nextRunAt - data.at))}`;
  return [
    { text: '  policy    ', style: 'dim' },
    { text: `${policy.name} `, style: 'bold' },
    { text: `[${policy.effectiveMode}] ${last}${next}` },
    ...(pending === undefined ? [] : [{ text: `, ${pending.count} pending`, style: 'yellow' as const }]),
  ];
}

function actionLine(action: SummaryData['actions'][number], now: number): Segment[] {
  return [
    { text: '  action    ', style: 'dim' },
    { text: `${action.action} ${action.target}: ${action.outcome.replaceAll('_', ' ')}, ${ago(action.at, now)}` },
    { text: ` by ${action.policy}`, style: 'dim' },
  ];
}

function ago(at: number, now: number): string {
  return now - at < 1_000 ? 'now' : `${formatDuration(now - at)} ago`;
}

function fit(segments: readonly Segment[], width: number, paint: Paint): string {
  let room = Math.max(1, width);
  let line = '';
  for (const { text, style } of segments) {
    const plain = printable(text);
    const shown = plain.length <= room ? plain : `${plain.slice(0, room - 1)}…`;
    line += style === undefined ? shown : paint(style, shown);
    room -= shown.length;
    if (shown !== plain || room === 0) break;
  }
  return line;
}
