/** Lines about the daemon's state for a terminal. Pure. */
import { runNumbersText } from '#foundation/domain/counted.ts';
import { formatAge, formatSpan } from '#foundation/domain/time-text.ts';
import type { ActionView, PolicyView } from '#operate/contract/policies.ts';
import type { SourceView, StatusFacts, VerdictLevel } from '#operate/contract/status.ts';
import { type Cell, faint, state, strong, type Tone } from '#foundation/markup/cell.ts';
import { label } from '#operate/show/text.ts';

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

const LEVELS: Readonly<Record<VerdictLevel, { readonly mark: string; readonly tone: Tone }>> = {
  trouble: { mark: '■', tone: 'trouble' },
  attention: { mark: '▲', tone: 'attention' },
  starting: { mark: '○', tone: 'off' },
  info: { mark: '●', tone: 'off' },
  ok: { mark: '●', tone: 'ok' },
};

/** Text with the mark and the color of its level. */
export function marked(level: VerdictLevel, text: string): Cell {
  const { mark, tone } = LEVELS[level];
  return state(tone, `${mark} ${text}`);
}

export function upText({ at, startedAt }: Pick<StateData, 'at' | 'startedAt'>): string {
  return `up ${formatSpan(Math.max(0, at - startedAt))}`;
}

export function sourcesLine({ sources }: StateData): Cell {
  const states = Map.groupBy(sources, (source) => source.state);
  const counts = [...states].map(([now, all]) => `${all.length} ${now}`);
  return counts.length > 0 && [label('sources'), counts.join(', ')];
}

/** Lines of campaigns, halted ones first. */
export function campaignLines({ policies, at }: StateData, most = Infinity): Cell[] {
  const campaigns = policies
    .flatMap((policy) => policy.campaigns.map((campaign) => ({ ...campaign, policy: policy.name })))
    .toSorted((a, b) => Number(isStopped(b.state)) - Number(isStopped(a.state)));
  const lines = campaigns.slice(0, most).map((campaign): Cell => {
    const { policy, group, state: now, step, verified, judged, until } = campaign;
    const wait = until === undefined || until <= at ? '' : ` for ${formatSpan(until - at)}`;
    const known = judged === 0 ? 'no results yet' : `${verified} of ${judged} verified`;
    const stands = state(isStopped(now) ? 'trouble' : 'ok', `${now}${wait}`);
    return [label('campaign'), strong(policy), ` step ${step} `, stands, `, ${known}  `, faint(group)];
  });
  const more = campaigns.length - lines.length;
  return more > 0 ? [...lines, faint(label(), `and ${more} more groups`)] : lines;
}

function isStopped(now: string): boolean {
  return now === 'halted' || now === 'audit';
}

export function policyLines({ policies, at }: StateData, most = Infinity): Cell[] {
  return policies.slice(0, most).map(({ name, effectiveMode, lastRun, nextRunAt, held, pending }) => {
    const hold = held === undefined ? '' : ` by ${held.guard} for ${formatSpan(Math.max(0, at - held.since))},`;
    const last =
      lastRun === undefined
        ? 'has not run'
        : `${lastRun.outcome.replaceAll('_', ' ')}${lastRun.outcome === 'held' ? hold : ''} ${formatAge(lastRun.at, at)} (${runNumbersText(lastRun)})`;
    const next = nextRunAt === undefined ? '' : `, next in ${formatSpan(Math.max(0, nextRunAt - at))}`;
    const waits = pending && state('attention', `, ${pending.count} pending`);
    return [label('policy'), strong(name), ` [${effectiveMode}] ${last}${next}`, waits];
  });
}

export function actionLines({ actions, at: now }: StateData, most = Infinity): Cell[] {
  return actions.slice(0, most).map(({ at, policy, action, target, outcome }) => {
    const done = `${action} ${target}: ${outcome.replaceAll('_', ' ')}, ${formatAge(at, now)}`;
    return [label('action'), done, faint(` by ${policy}`)];
  });
}
