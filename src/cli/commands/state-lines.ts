/** Lines about the daemon's state for a terminal, in pieces that are truncated or wrapped, and then painted. Pure. */
import { runNumbersText } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { ActionView, PolicyView } from '#operate/contract/policies.ts';
import type { SourceView, StatusFacts } from '#operate/contract/status.ts';
import { printable, type Style } from '../output.ts';
import { textWidth } from '#operate/show/text-table.ts';

/** `/api/v1/status`, with the lists of policies and actions. */
export interface StateData extends Pick<StatusFacts, 'at' | 'startedAt' | 'verdict' | 'conditions'> {
  readonly sources: readonly Pick<SourceView, 'account' | 'collector' | 'state'>[];
  readonly policies: readonly Pick<
    PolicyView,
    'name' | 'effectiveMode' | 'nextRunAt' | 'held' | 'pending' | 'campaigns' | 'lastRun'
  >[];
  /** Newest first. */
  readonly actions: readonly ActionView[];
}

type Paint = (style: Style, text: string) => string;

/** Piece of a line: truncated by its plain length, then painted. */
export interface Segment {
  readonly text: string;
  readonly style?: Style;
  /** Never wrapped, because it is copied. */
  readonly isWhole?: true;
}

export const LEVELS = {
  trouble: { mark: '■', style: 'red' },
  attention: { mark: '▲', style: 'yellow' },
  starting: { mark: '○', style: 'cyan' },
  info: { mark: '●', style: 'cyan' },
  ok: { mark: '●', style: 'green' },
} as const;

export function verdictLine(data: StateData): Segment[] {
  const { mark, style } = LEVELS[data.verdict.level];
  const up = formatDuration(Math.max(0, data.at - data.startedAt));
  return [
    { text: `${mark} ${data.verdict.sentence}`, style },
    { text: `  up ${up}`, style: 'dim' },
  ];
}

export function sourcesLine(data: StateData): Segment[] {
  const states = Map.groupBy(data.sources, (source) => source.state);
  const counts = [...states].map(([state, sources]) => `${sources.length} ${state}`);
  return counts.length === 0 ? [] : [{ text: '  sources   ', style: 'dim' }, { text: counts.join(', ') }];
}

/** Lines of campaigns, halted ones first. */
export function campaignLines({ policies, at }: StateData, most: number): Segment[][] {
  const campaigns = policies
    .flatMap((policy) => policy.campaigns.map((campaign) => ({ ...campaign, policy: policy.name })))
    .toSorted((a, b) => Number(isStopped(b.state)) - Number(isStopped(a.state)));
  const lines = campaigns.slice(0, most).map((campaign): Segment[] => {
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

export function policyLine(policy: StateData['policies'][number], data: StateData): Segment[] {
  const { lastRun, nextRunAt, held, pending } = policy;
  const hold = held === undefined ? '' : ` by ${held.guard} for ${formatDuration(Math.max(0, data.at - held.since))},`;
  const last =
    lastRun === undefined
      ? 'has not run'
      : `${lastRun.outcome.replaceAll('_', ' ')}${lastRun.outcome === 'held' ? hold : ''} ${ago(lastRun.at, data.at)} (${runNumbersText(lastRun)})`;
  const next = nextRunAt === undefined ? '' : `, next in ${formatDuration(Math.max(0, nextRunAt - data.at))}`;
  return [
    { text: '  policy    ', style: 'dim' },
    { text: `${policy.name} `, style: 'bold' },
    { text: `[${policy.effectiveMode}] ${last}${next}` },
    ...(pending === undefined ? [] : [{ text: `, ${pending.count} pending`, style: 'yellow' as const }]),
  ];
}

export function actionLine(action: StateData['actions'][number], now: number): Segment[] {
  return [
    { text: '  action    ', style: 'dim' },
    { text: `${action.action} ${action.target}: ${action.outcome.replaceAll('_', ' ')}, ${ago(action.at, now)}` },
    { text: ` by ${action.policy}`, style: 'dim' },
  ];
}

export function ago(at: number, now: number): string {
  return now - at < 1_000 ? 'now' : `${formatDuration(now - at)} ago`;
}

export function fit(segments: readonly Segment[], width: number, paint: Paint): string {
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

/** Columns before the texts of labelled lines. */
const INDENT = 12;

/**
 * Lines without truncation: the text continues below itself.
 *
 * @param width columns of the terminal; absent without wrapping
 */
export function wrapped(
  segments: readonly Segment[],
  width: number | undefined,
  paint: Paint,
  indent = INDENT,
): string {
  let used = 0;
  let lines = '';
  for (const { text, style, isWhole } of segments) {
    let piece = '';
    const end = (): void => {
      lines += style === undefined ? piece : paint(style, piece);
      piece = '';
    };
    for (const word of isWhole === true ? [printable(text)] : printable(text).split(/(?<= )(?=[^ ])/)) {
      if (width !== undefined && used > indent && used + textWidth(word.trimEnd()) > width) {
        piece = piece.trimEnd();
        end();
        lines += `\n${' '.repeat(indent)}`;
        used = indent;
      }
      piece += word;
      used += textWidth(word);
    }
    end();
  }
  return `${lines.trimEnd()}\n`;
}
