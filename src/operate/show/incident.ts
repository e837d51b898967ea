/** One incident: what fails, who repairs it, and the next step. Pure. */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { formatSpan } from '#foundation/domain/time-text.ts';
import { acknowledgmentText, stateWord } from '#foundation/domain/incident.ts';
import { campaigns as campaignTable } from './campaigns.ts';
import { deadLetterPath, planPath, policyPath } from '../contract/page-paths.ts';
import { policyLink } from './policy-link.ts';
import {
  bars,
  blockText,
  type Cell,
  type ChartValues,
  type Facts,
  facts,
  idLink,
  idText,
  lines,
  link,
  list,
  type Look,
  moment,
  nextStep,
  numberColumn,
  paragraph,
  type Section,
  section,
  type Series,
  state,
  sub,
  table,
  timeChart,
  timePiece,
  type Tone,
  whole,
  wide,
} from '#foundation/markup/cell.ts';
import type { IncidentDetail, IncidentView, Repair } from '../contract/incidents.ts';

export function incidentSheet(incident: IncidentDetail, at: number, command: OwnCommand): Cell {
  return [
    incidentFacts(incident, at),
    incidentPlans(incident.plans, at),
    campaignTable(incident.campaigns, at),
    incidentPolicies(incident, at),
    incidentSample(incident),
    incidentStoryPart(incident),
    incidentNext(incident, command),
  ];
}

/** Each command of the next step is for the daemon of this reader, also inside of `$(…)`. */
export function incidentNext({ next }: IncidentDetail, command: OwnCommand): Cell {
  return nextStep(
    next.text,
    next.command?.replaceAll(/\bopsd ([^$()]*[^$()\s])/g, (_all, words: string) => command(words)),
  );
}

export function incidentFacts(incident: IncidentDetail, at: number): Facts {
  const { id, members, destination, deliveries } = incident;
  return facts({
    Incident: idText(id),
    State: incidentState(incident),
    'Members now': [
      link(`/dead-letters?incident=${encodeURIComponent(id)}`, knownCount(members)),
      sub(
        `${counted(members.workflow, 'run')}, ${counted(members.message, 'message')}; ${formatCount(members.ever)} ever, ${formatCount(members.expired)} expired`,
      ),
      members.isLowerBound && sub('only known ones; more are possible: no operation lists the message DLQ'),
    ],
    'First expires': moment(incident.firstExpiresAt, at),
    'First failure': firstFailure(incident, at),
    'Last failure': moment(incident.lastAt, at),
    'Failures over time': rate(incident),
    Resolved: moment(incident.resolvedAt, at),
    Account: incident.account,
    [incident.kind === 'destination' ? 'Destination' : 'Workflow']: incident.place,
    Reason: [incident.reason, sub(`cause: ${incident.cause}`)],
    'Destination now': destination && [
      destination.host,
      sub(
        `${formatCount(destination.delivered)} of ${formatCount(destination.attempts)} attempts succeeded in 15 minutes`,
      ),
    ],
    Deliveries: deliveries && [
      `${counted(deliveries.failed, 'failed attempt')}, ${counted(deliveries.lost, 'failed message')}`,
      !deliveries.isFailing && '; delivers again',
    ],
    Labels: counts(incident.labels),
    'Flow-control keys': counts(incident.flowControlKeys),
  });
}

/** `412`; `at least 3 known` if there may be more. */
export function knownCount({ now, isLowerBound }: IncidentView['members']): string {
  return isLowerBound ? `at least ${formatCount(now)} known` : formatCount(now);
}

/** Time of the first known failure. */
export function firstFailure({ firstAt, isSinceKnown }: IncidentView, at: number): Cell {
  return [moment(firstAt, at), !isSinceKnown && sub('or earlier')];
}

const STATE_TONE: Readonly<Record<IncidentView['state'], Tone>> = {
  open: 'trouble',
  acknowledged: 'attention',
  recovering: 'busy',
  resolved: 'ok',
};

function incidentState(incident: IncidentView): Cell {
  const [word, known] = [stateWord(incident), acknowledgmentText(incident)];
  const tone = STATE_TONE[incident.state];
  return word === 'snoozed' ? state(tone, known!) : [state(tone, word), sub(known)];
}

/** Chart of the failures over time, with its highest bar in words. */
function rate(incident: IncidentView): Cell {
  const chart = rateChart(incident);
  return chart && [chart, sub(whole(mostText(incident.rate!)))];
}

export function rateChart({ rate: given }: IncidentView): Cell {
  return given && bars(given.counts, `Failures over time, ${mostText(given)}`, 'trouble');
}

function mostText({ counts: values, stepMs }: NonNullable<IncidentView['rate']>): string {
  return `at most ${formatCount(Math.max(0, ...values))} in ${formatSpan(stepMs)}`;
}

function counts(rows: IncidentDetail['labels']): Cell {
  return lines(rows.map(({ name, count }) => `${name} (${formatCount(count)})`));
}

const PLAN_TONE: Readonly<Record<string, Tone>> = { approved: 'busy', pending: 'ask' };

/** @param approval cell of an approved plan */
export function incidentPlans(
  rows: IncidentDetail['plans'],
  at: number,
  approval: (plan: IncidentDetail['plans'][number]) => Cell = () => undefined,
): Cell {
  if (rows.length === 0) return undefined;
  const plans = table<IncidentDetail['plans'][number]>({
    caption: 'Plans about members that can still be used.',
    rows,
    empty: '',
    columns: {
      Plan: (row) => idLink(planPath(row.id), row.id),
      State: (row) => state(PLAN_TONE[row.state] ?? 'off', row.state),
      Action: (row) => [whole(row.action), sub(coverText(row))],
      Members: numberColumn((row) => `${formatCount(row.members)} of ${formatCount(row.covers)}`),
      Made: (row) => moment(row.savedAt, at),
      By: wide((row) => row.madeBy ?? row.by),
      Approval: wide(
        (row) =>
          row.state === 'approved' && [
            `by ${row.approvedBy ?? 'an operator'}, expires `,
            moment(row.expiresAt, at),
            approval(row),
          ],
      ),
    },
  });
  return section('stored-plans', 'Plans', plans);
}

export function incidentPolicies({ policies: rows, members }: IncidentDetail, at: number): Section {
  const policies = table<IncidentDetail['policies'][number]>({
    caption: 'Policies that select members. The page of a policy makes its plan.',
    rows,
    empty: unselected(members),
    columns: {
      Policy: wide((row) => [policyLink(row.name), sub(row.action)]),
      Mode: wide((row) => [row.effectiveMode, sub(row.reducedBy)]),
      Selects: numberColumn((row) => `${formatCount(row.selects)} of ${knownCount(members)}`),
      Held: wide((row) => row.held && `${row.held.guard}: ${row.held.reason}`),
      'Next run': (row) => moment(row.nextRunAt, at),
    },
  });
  return section('policies', 'Policies', policies);
}

function unselected({ now, isLowerBound }: IncidentDetail['members']): string {
  if (now > 0)
    return 'No policy selects a known member, so nothing is repaired by itself. Policies appear here when they do.';
  return isLowerBound
    ? 'No dead letter is known, so it is not known whether a policy selects one.'
    : 'No dead letter is left, so there is nothing to select.';
}

export function incidentSample({ sample }: IncidentDetail): Cell {
  return (
    sample &&
    section('sample', 'Newest member', [
      paragraph(idLink(deadLetterPath(sample), sample.id), sample.url !== undefined && ' ', sample.url),
      sample.responseText !== undefined && blockText(sample.responseText),
    ])
  );
}

/** Failures and repairs over time, with the events of the story as marks. */
export function incidentChart({ history, story }: IncidentDetail): Cell {
  if (history === undefined) return undefined;
  const { stepMs, failed, verified, failedAgain } = history;
  // Before the first failure there is none. A few steps are narrow bars, not blocks.
  const before = Math.max(1, LEAST_STEPS - failed.length);
  const padded = (counts: readonly number[]): ChartValues => [...Array.from({ length: before }, () => 0), ...counts];
  const all: readonly Series[] = [
    { name: 'failed', look: 'trouble', shape: 'bars', values: padded(failed) },
    { name: 'failed again', look: 'attention', shape: 'bars', values: padded(failedAgain) },
    { name: 'repaired and verified', look: 'ok', shape: 'bars', values: padded(verified) },
  ];
  return timeChart({
    title: 'Failures and repairs',
    from: history.from - before * stepMs,
    stepMs,
    series: all.filter(({ name, values }) => name === 'failed' || values.some((value) => value !== 0)),
    isStacked: true,
    format: formatCount,
    marks: story.map(({ at, kind, mark, plan }) => ({
      at,
      look: STORY_LOOK[kind],
      text: mark,
      path: plan && planPath(plan),
    })),
    isLow: true,
  });
}

const LEAST_STEPS = 14;

const STORY_LOOK: Readonly<Record<IncidentDetail['story'][number]['kind'], Look>> = {
  failure: 'trouble',
  change: 'faint',
  repair: 'busy',
  person: 'busy',
  recovery: 'ok',
};

/** Events of a story that are shown: its beginning and its end. */
const STORY_ENDS = { first: 10, last: 20 };

export function incidentStoryPart({ story }: IncidentDetail): Section {
  const { first, last } = STORY_ENDS;
  const more = story.length - first - last;
  const shown = story.map(({ at, text, plan }): Cell => [
    timePiece(at),
    ' ',
    plan === undefined ? text : link(planPath(plan), text),
  ]);
  const items = more <= 1 ? shown : [...shown.slice(0, first), `… ${counted(more, 'event')} …`, ...shown.slice(-last)];
  return section('story', 'What happened', list(items));
}

/** Repair, and what remains. */
export function incidentStatus(incident: IncidentDetail, at: number): readonly Cell[] {
  const { members, firstExpiresAt, firstAt, state: now, next, plans } = incident;
  const acknowledgment = acknowledgmentText(incident);
  const pendingPlan = plans.find((plan) => plan.state === 'pending')?.id;
  const left = `${knownCount(members)} of ${members.isLowerBound ? 'at least ' : ''}${formatCount(members.ever)} left`;
  return [
    whoRepairs(incident, { ...next, pendingPlan }),
    members.ever > 0 && ` · ${left}`,
    members.expired > 0 && ` · ${formatCount(members.expired)} expired`,
    firstExpiresAt !== undefined && ' · the first expires ',
    moment(firstExpiresAt, at),
    now !== 'resolved' && ` · for ${formatSpan(Math.max(0, at - firstAt))}`,
    acknowledgment !== undefined && ` · ${acknowledgment}`,
  ];
}

/**
 * Repair of an incident in a few words, for its row and for its page. Red is for incidents without one.
 * @param repair undefined: not known
 */
export function whoRepairs(
  incident: Pick<IncidentView, 'state' | 'members' | 'acknowledged' | 'place'>,
  repair: Repair | undefined,
): Cell {
  const { state: now, members } = incident;
  if (now === 'resolved') return state('ok', 'resolved');
  if (repair?.pendingPlan !== undefined)
    return link(planPath(repair.pendingPlan), state('ask', 'waits for an approval'));
  const { by, why, policy } = repair ?? {};
  if (why !== undefined)
    return [state(by === 'policy' ? 'attention' : 'trouble', why), policy !== undefined && sub(policyLink(policy))];
  if (by === 'policy') {
    const verb = members.now === 0 && !members.isLowerBound ? 'verifies' : 'repairs';
    const shown = state('busy', `${policy ?? 'the daemon'} ${verb} it`);
    return policy === undefined ? shown : link(policyPath(policy), shown);
  }
  if (by === 'none' || now === 'recovering') return state('busy', 'recovers by itself');
  if (now === 'acknowledged') return state('attention', stateWord(incident));
  return state('trouble', repair === undefined ? 'open' : 'nobody repairs it');
}
