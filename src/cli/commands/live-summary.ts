/** Terminal output of `opsd demo`: the addresses, and the current state in a few lines. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { painter } from '../output.ts';
import {
  actionLine,
  ago,
  campaignLines,
  fit,
  policyLine,
  sourcesLine,
  verdictLine,
  type Segment,
  type StateData,
} from './state-lines.ts';

export interface BannerData {
  readonly version: string;
  /** Description of the running program: `the daemon over the embedded service`. */
  readonly what: string;
  readonly addresses: readonly { readonly label: string; readonly href: string }[];
  /** Last lines, such as how to stop it. */
  readonly hints?: readonly string[];
}

export interface SummaryData extends StateData {
  /** Counts, most important first: `{ label: 'delivered', value: 1204 }`. */
  readonly figures: readonly { readonly label: string; readonly value: number }[];
}

/** Limits that fit a terminal of 24 lines: a longer summary would scroll. */
const MAX_CONDITIONS = 2;
const MAX_POLICIES = 6;
const MAX_CAMPAIGNS = 3;
const MAX_ACTIONS = 4;

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
    ...campaignLines(data, MAX_CAMPAIGNS),
    ...data.actions.slice(0, MAX_ACTIONS).map((action) => actionLine(action, data.at)),
  ];
  return lines
    .filter((segments) => segments.length > 0)
    .map((segments) => `${fit(segments, width, paint)}\n`)
    .join('');
}

function figuresLine(data: SummaryData): Segment[] {
  return data.figures.flatMap(({ label, value }, index) => [
    { text: `${index === 0 ? '  ' : '   '}${formatCount(value)}`, style: 'bold' as const },
    { text: ` ${label}` },
  ]);
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
