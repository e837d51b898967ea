/** Lines about the daemon's state for a terminal, in pieces that are truncated or wrapped, and then painted. Pure. */
import { runNumbersText } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { printable, type Style } from '../output.ts';
import { textWidth } from '../../show/text-table.ts';

/** Subset of the server's `Status` (`/api/v1/status`, and the routes of its lists). Times are epoch milliseconds. */
export interface StateData {
  readonly at: number;
  readonly startedAt: number;
  readonly verdict: { readonly level: 'trouble' | 'attention' | 'starting' | 'info' | 'ok'; readonly sentence: string };
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
      readonly matched?: number;
      readonly acted: number;
      readonly backlog?: number;
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
