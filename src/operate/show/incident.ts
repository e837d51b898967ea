/** One incident: what fails, who repairs it, and the next step. Pure. */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import { coverText } from '#foundation/domain/plan.ts';
import { formatSpan } from '#foundation/domain/time-text.ts';
import { campaigns } from './campaigns.ts';
import { deadLetterPath, planPath, policyLink } from './paths.ts';
import {
  bars,
  blockText,
  type Cell,
  type Facts,
  facts,
  idLink,
  idText,
  lines,
  link,
  list,
  moment,
  nextStep,
  numberColumn,
  paragraph,
  type Section,
  section,
  state,
  sub,
  table,
  timePiece,
  type Tone,
  whole,
  wide,
} from './cell.ts';
import type { IncidentDetail, IncidentView } from '../contract/incidents.ts';

export function incidentSheet(incident: IncidentDetail, at: number, command: OwnCommand): Cell {
  return [
    incidentFacts(incident, at),
    incidentPlans(incident.plans, at),
    campaigns(incident.campaigns, at),
    incidentPolicies(incident, at),
    incidentSample(incident),
    incidentMarks(incident),
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
  recovering: 'attention',
  resolved: 'ok',
};

export function incidentState({ state: now, acknowledged }: IncidentView): Cell {
  return [state(STATE_TONE[now], now), acknowledged && sub(`${acknowledged.by}: ${acknowledged.note}`)];
}

/** Chart of the failures over time, with its highest bar in words. */
export function rate({ rate: given }: IncidentView): Cell {
  if (given === undefined) return undefined;
  const { counts: values, stepMs } = given;
  const most = `at most ${formatCount(Math.max(0, ...values))} in ${formatSpan(stepMs)}`;
  const chart = bars(values, `Failures over time, ${most}`);
  return chart && [chart, sub(whole(most))];
}

function counts(rows: IncidentDetail['labels']): Cell {
  return lines(rows.map(({ name, count }) => `${name} (${formatCount(count)})`));
}

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
      State: (row) => state(row.state === 'approved' ? 'ok' : 'off', row.state),
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

export function incidentMarks({ marks }: IncidentDetail): Cell {
  if (marks.length === 0) return undefined;
  const items = marks.map(({ at, kind, detail }): Cell => [timePiece(at), ` ${kind} `, idText(detail)]);
  return section('marks', 'Changes of the daemon at this time', list(items));
}
