/** Screen of `opsd status`: the most severe first, and each text in full. Pure. */
import { counted } from '#foundation/domain/counted.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { shellWord, type OwnCommand } from '#foundation/domain/own-command.ts';
import type { IncidentView } from '#operate/contract/incidents.ts';
import type { StoredPlanView } from '#operate/contract/plans.ts';
import type { Problem, StatusFacts } from '#operate/contract/status.ts';
import { painter, type TextStyle } from '../output.ts';
import {
  actionLine,
  ago,
  campaignLines,
  LEVELS,
  policyLine,
  sourcesLine,
  wrapped,
  type Segment,
  type StateData,
} from './state-lines.ts';

/** `/api/v1/status`, with the lists of sources, policies, plans and actions. */
export interface ScreenData extends StateData, Pick<StatusFacts, 'version' | 'replica' | 'accounts' | 'pauses'> {
  /** Unresolved incidents, and the number of those that are not listed. */
  readonly incidents: readonly IncidentView[];
  readonly moreIncidents: number;
  readonly plans: readonly StoredPlanView[];
}

/** Sections are separated by an empty line, and an empty section is left out. */
export function statusText(data: ScreenData, style: TextStyle & { readonly command: OwnCommand }): string {
  const paint = painter(style.color);
  const { level, problems } = data.verdict;
  const sections: Segment[][][] = [
    // The sentence is the first problem, unless the daemon is starting.
    problems
      .slice(level === 'starting' ? 0 : 1)
      .filter((problem) => !isListed(problem, data))
      .map(problemLine),
    incidentLines(data, style.command),
    data.plans.flatMap((plan) => planLines(plan, data, style.command)),
    data.pauses.flatMap((pause) => pauseLines(pause, data, style.command)),
    [
      ...data.policies.map((policy) => policyLine(policy, data)),
      ...campaignLines(data, Infinity),
      ...data.actions.map((action) => actionLine(action, data.at)),
    ],
    [
      sourcesLine(data),
      ...data.sources.filter(({ state }) => state === 'failing' || state === 'stale').map(sourceLine),
    ],
  ];
  const { mark, style: color } = LEVELS[level];
  const up = formatDuration(Math.max(0, data.at - data.startedAt));
  const time = new Date(data.at).toISOString().slice(0, 19).replace('T', ' ');
  const head = [
    wrapped([{ text: `${mark} ${data.verdict.sentence}`, style: color }], style.width, paint, 2),
    wrapped(
      [{ text: `  opsd ${data.version}, up ${up}, at ${time}Z${ofReplica(data)}`, style: 'dim' }],
      style.width,
      paint,
      2,
    ),
  ];
  const texts = sections.map((lines) =>
    lines
      .filter((line) => line.length > 0)
      .map((line) => wrapped(line, style.width, paint))
      .join(''),
  );
  return [head.join(''), ...texts.filter((text) => text !== '')].join('\n');
}

/** `, replica opsd-0 with 2 of 5 accounts`. */
function ofReplica({ replica, accounts }: ScreenData): string {
  if (replica === undefined) return '';
  const own = accounts.filter(({ lease }) => lease?.isOwn === true).length;
  return `, replica ${replica} with ${own} of ${counted(accounts.length, 'account')}`;
}

function problemLine({ level, text }: Problem): Segment[] {
  const { mark, style } = LEVELS[level];
  return [
    { text: '  problem   ', style: 'dim' },
    { text: `${mark} ${text}`, style },
  ];
}

/** Returns true for the report of an incident, a plan or a pause that has a line of its own. */
function isListed({ text }: { readonly text: string }, { incidents, plans, pauses }: ScreenData): boolean {
  return (
    incidents.some(({ account, title }) => text.startsWith(`Incident in ${account}: ${title}`)) ||
    plans.some(({ id }) => text.startsWith(`Plan ${id} `)) ||
    (text.startsWith('All policies are paused') && pauses.some(({ scope }) => scope === 'engine'))
  );
}

function incidentLines({ incidents, moreIncidents, at }: ScreenData, command: OwnCommand): Segment[][] {
  const [first] = incidents;
  if (first === undefined) return [];
  const lines = incidents.map(({ id, account, state, title, firstAt, isSinceKnown, firstExpiresAt }): Segment[] => {
    const expires =
      firstExpiresAt === undefined ? '' : `, first expiry in ${formatDuration(Math.max(0, firstExpiresAt - at))}`;
    return [
      { text: '  incident  ', style: 'dim' },
      { text: `${id} `, style: 'bold' },
      { text: title, style: state === 'open' ? 'red' : 'yellow' },
      {
        text: ` (${account}), ${state}, since ${isSinceKnown ? '' : 'at least '}${formatDuration(Math.max(0, at - firstAt))}${expires}`,
      },
    ];
  });
  const more = moreIncidents === 0 ? [] : [[{ text: `${' '.repeat(12)}and ${moreIncidents} more` }]];
  return [
    ...lines,
    ...more,
    nextStep(command(moreIncidents === 0 ? `incidents show ${shellWord(first.id)}` : 'incidents')),
  ];
}

function planLines(plan: StoredPlanView, { at }: ScreenData, command: OwnCommand): Segment[][] {
  const { id, policy, account, state, expiresAt, approvedBy } = plan;
  const isPending = state === 'pending';
  const by = isPending || approvedBy === undefined ? '' : ` by ${approvedBy}`;
  const actions = `${coverText(plan)} on ${account}`;
  const expires = `expires in ${formatDuration(Math.max(0, expiresAt - at))}`;
  return [
    [
      { text: isPending ? '  pending   ' : '  approved  ', style: 'dim' },
      { text: `${id} `, style: 'bold' },
      { text: `${policy}: ${actions}${by}, ${expires}` },
    ],
    ...(isPending ? [nextStep(command(`approve ${id}`))] : []),
    nextStep(command(`reject ${id}`)),
  ];
}

function pauseLines(
  { scope, reason, at, by }: ScreenData['pauses'][number],
  data: ScreenData,
  command: OwnCommand,
): Segment[][] {
  const policy = scope.startsWith('policy/') ? scope.slice('policy/'.length) : undefined;
  const option = policy === undefined ? '' : ` --policy ${shellWord(policy)}`;
  return [
    [
      { text: '  paused    ', style: 'dim' },
      { text: policy ?? 'all policies', style: 'bold' },
      { text: ` by ${by} ${ago(at, data.at)}: ${reason}` },
    ],
    nextStep(command(`unpause${option} --reason TEXT`)),
  ];
}

function nextStep(command: string): Segment[] {
  return [{ text: ' '.repeat(12) }, { text: command, style: 'cyan', isWhole: true }];
}

function sourceLine({ account, collector, state }: StateData['sources'][number]): Segment[] {
  return [{ text: ' '.repeat(12) }, { text: `${account} ${collector} ${state}`, style: 'yellow' }];
}
