/** Screen of `opsd status`: the most severe first, and each text in full. Pure. */
import { counted } from '#foundation/domain/counted.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import { formatAge, formatSpan, formatTime } from '#foundation/domain/time-text.ts';
import type { IncidentView } from '#operate/contract/incidents.ts';
import type { StoredPlanView } from '#operate/contract/plans.ts';
import { stateWord } from '#foundation/domain/incident.ts';
import { incidentPath, planPath } from '#operate/contract/page-paths.ts';
import { problemText, type Problem, type StatusFacts } from '#operate/contract/status.ts';
import { type Cell, code, faint, state, strong } from '#foundation/markup/cell.ts';
import { label, lineText } from '#operate/show/text.ts';
import { commandOfAction, pausedPolicy } from '#operate/situation/next-step.ts';
import type { TextStyle } from '../output.ts';
import { actionLines, campaignLines, marked, policyLines, sourcesLine, upText, type StateData } from './state-lines.ts';

/** `/api/v1/status`, with the lists of sources, policies, plans and actions. */
export interface ScreenData extends StateData, Pick<StatusFacts, 'version' | 'replica' | 'accounts' | 'pauses'> {
  /** Unresolved incidents, and the number of those that are not listed. */
  readonly incidents: readonly IncidentView[];
  readonly moreIncidents: number;
  readonly plans: readonly StoredPlanView[];
}

/** Sections are separated by an empty line, and an empty section is left out. */
export function statusText(data: ScreenData, style: TextStyle & { readonly command: OwnCommand }): string {
  const { command } = style;
  const { level, sentence, problems } = data.verdict;
  const sections: Cell[][] = [
    // The sentence is the first problem, unless the daemon is starting.
    problems
      .slice(level === 'starting' ? 0 : 1)
      .filter((problem) => !isListed(problem, data))
      .map((problem) => [label('problem'), marked(problem.level, problemText(problem))]),
    incidentLines(data, command),
    data.plans.flatMap((plan) => planLines(plan, data, command)),
    data.pauses.flatMap((pause) => pauseLines(pause, data, command)),
    [...policyLines(data), ...campaignLines(data), ...actionLines(data)],
    [
      sourcesLine(data),
      ...data.sources
        .filter((source) => source.state === 'failing' || source.state === 'stale')
        .map((source) => [label(), state('attention', `${source.account} ${source.collector} ${source.state}`)]),
    ],
  ];
  const head = [
    marked(level, sentence),
    faint(`  opsd ${data.version}, ${upText(data)}, at ${formatTime(data.at)}${ofReplica(data)}`),
  ];
  const texts = sections.map((lines) =>
    lines
      .filter((line) => line !== false)
      .map((line) => lineText(line, style))
      .join(''),
  );
  const first = head.map((line) => lineText(line, style, 2)).join('');
  return [first, ...texts.filter((text) => text !== '')].join('\n');
}

/** `, replica opsd-0 with 2 of 5 accounts`. */
function ofReplica({ replica, accounts }: ScreenData): string {
  if (replica === undefined) return '';
  const own = accounts.filter(({ lease }) => lease?.isOwn === true).length;
  return `, replica ${replica} with ${own} of ${counted(accounts.length, 'account')}`;
}

/** Returns true for the report of an incident, a plan or a pause that has a line of its own. */
function isListed({ path = '', text }: Problem, { incidents, plans, pauses }: ScreenData): boolean {
  return (
    incidents.some(({ id }) => path === incidentPath(id)) ||
    plans.some(({ id }) => path === planPath(id)) ||
    (text.startsWith('All policies are paused') && pauses.some(({ scope }) => scope === 'engine'))
  );
}

function incidentLines({ incidents, moreIncidents, at }: ScreenData, command: OwnCommand): Cell[] {
  const [first] = incidents;
  if (first === undefined) return [];
  const lines = incidents.map((incident): Cell => {
    const { id, account, state: now, title, firstAt, isSinceKnown, firstExpiresAt } = incident;
    const expires =
      firstExpiresAt === undefined ? '' : `, first expiry in ${formatSpan(Math.max(0, firstExpiresAt - at))}`;
    const since = `${isSinceKnown ? '' : 'at least '}${formatSpan(Math.max(0, at - firstAt))}`;
    const what = state(now === 'open' ? 'trouble' : 'attention', title);
    return [
      label('incident'),
      strong(id),
      ' ',
      what,
      ` (${account}), ${stateWord(incident)}, since ${since}${expires}`,
    ];
  });
  const more = moreIncidents > 0 && [label(), `and ${moreIncidents} more`];
  const next = command(moreIncidents === 0 ? `incidents show ${shellWord(first.id)}` : 'incidents');
  return [...lines, more, [label(), code(next)]];
}

function planLines(plan: StoredPlanView, { at }: ScreenData, command: OwnCommand): Cell[] {
  const { id, policy, account, state: now, expiresAt, approvedBy } = plan;
  const isPending = now === 'pending';
  const by = isPending || approvedBy === undefined ? '' : ` by ${approvedBy}`;
  const expires = `expires in ${formatSpan(Math.max(0, expiresAt - at))}`;
  return [
    [label(now), strong(id), ` ${policy}: ${coverText(plan)} on ${account}${by}, ${expires}`],
    isPending && [label(), code(command(`approve ${id}`))],
    [label(), code(command(`reject ${id}`))],
  ];
}

function pauseLines(pause: ScreenData['pauses'][number], data: ScreenData, command: OwnCommand): Cell[] {
  const { reason, at, by } = pause;
  const policy = pausedPolicy(pause);
  const next = commandOfAction({ kind: 'unpause', policy }).replace(/^opsd /, '');
  return [
    [label('paused'), strong(policy ?? 'all policies'), ` by ${by} ${formatAge(at, data.at)}: ${reason}`],
    [label(), code(command(next))],
  ];
}
