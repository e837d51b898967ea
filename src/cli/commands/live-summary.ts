/** Terminal output of `opsd demo`: the addresses, and the current state in a few lines. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { formatAge } from '#foundation/domain/time-text.ts';
import { type Cell, faint, state, strong } from '#foundation/markup/cell.ts';
import { cutLine, label } from '#operate/show/text.ts';
import { painter } from '../output.ts';
import { actionLines, campaignLines, marked, policyLines, sourcesLine, upText, type StateData } from './state-lines.ts';

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
  const lines: Cell[] = [
    [marked(data.verdict.level, data.verdict.sentence), faint(`  ${upText(data)}`)],
    figuresLine(data),
    sourcesLine(data),
    ...conditionLines(data),
    ...policyLines(data, MAX_POLICIES),
    ...campaignLines(data, MAX_CAMPAIGNS),
    ...actionLines(data, MAX_ACTIONS),
  ];
  return lines
    .filter((line) => line !== false)
    .map((line) => `${cutLine(line, width, color)}\n`)
    .join('');
}

function figuresLine({ figures }: SummaryData): Cell {
  const parts = figures.map(({ label: name, value }): Cell => ['   ', strong(formatCount(value)), ` ${name}`]);
  return parts.length > 0 && ['  ', ...parts.flat().slice(1)];
}

function conditionLines({ conditions, at }: SummaryData): Cell[] {
  const lines = conditions
    .slice(0, MAX_CONDITIONS)
    .map(({ summary, since }): Cell => [
      label('active'),
      state('attention', summary),
      faint(`  ${formatAge(since, at)}`),
    ]);
  const more = conditions.length - lines.length;
  return more > 0 ? [...lines, faint(label(), `and ${more} more`)] : lines;
}
