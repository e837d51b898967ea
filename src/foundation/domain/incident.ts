/**
 * Incident: failures that have one cause for an operator. All have the same account, the same workflow or destination,
 * and the same normalized reason, and no gap of 30 minutes separates them. Times are epoch milliseconds.
 */
import { addRates, rateOf, type FailureRate } from './failure-rate.ts';
import type { FailureCause } from './reason.ts';
import { formatTime } from './time-text.ts';

/** Time without a new failure after which the next failure begins another incident. */
const ONSET_GAP_MS = 30 * 60_000;
/** Time without a new failure after which an acknowledged incident is resolved. */
const QUIET_MS = 24 * 3_600_000;

export const INCIDENT_STATES = ['open', 'acknowledged', 'recovering', 'resolved'] as const;
/** `recovering`: resumed runs are not verified yet, or the destination delivers again and is not healthy yet. */
export type IncidentState = (typeof INCIDENT_STATES)[number];

export const DEAD_LETTER_QUEUES = ['workflow', 'message'] as const;
export type DeadLetterQueue = (typeof DEAD_LETTER_QUEUES)[number];

/** Properties that all failures of an incident share. */
export interface IncidentKind {
  readonly account: string;
  /** `overflow`: failures that would need more incidents than the daemon keeps. */
  readonly kind: 'workflow' | 'destination' | 'overflow';
  /** Label of the workflow, or host of the destination. */
  readonly place: string;
  /** `HTTP 503: upstream is unavailable`; see incident-reason.ts. */
  readonly reason: string;
  readonly cause: FailureCause;
}

/** Failing deliveries of the destination, from the service's log. */
export interface FailingDeliveries {
  readonly failed: number;
  /** Messages that finally failed. */
  readonly lost: number;
  readonly since: number;
  /** False if earlier attempts may have failed unseen. */
  readonly isSinceKnown?: boolean;
  readonly lastAt: number;
  /** False if the destination delivers again. */
  readonly isFailing: boolean;
  /** Time since when it delivers again. Absent while it fails, and once it is healthy. */
  readonly recoveringSince?: number;
  /** Part of the counts from failures that had ended before the present one began. */
  readonly earlier?: { readonly failed: number; readonly lost: number };
}

/** Returns the counts of an incident with a new reading of its destination. They never fall. */
export function withDeliveries(before: FailingDeliveries | undefined, read: FailingDeliveries): FailingDeliveries {
  if (before === undefined) return read;
  const hasEnded = !before.isFailing && read.since > before.lastAt;
  const { since, isSinceKnown = true } = before.since < read.since ? before : read;
  const { failed, lost } = (hasEnded ? before : before.earlier) ?? { failed: 0, lost: 0 };
  return {
    ...read,
    since,
    isSinceKnown,
    failed: Math.max(before.failed, failed + read.failed),
    lost: Math.max(before.lost, lost + read.lost),
    ...(failed > 0 && { earlier: { failed, lost } }),
  };
}

export interface Acknowledgment {
  readonly by: string;
  /** Empty for a snooze without one. */
  readonly note: string;
  readonly at: number;
  /** Makes it a snooze: no notification until this time. */
  readonly until?: number;
  /** Makes it a snooze: no notification until a deploy of what failed. */
  readonly untilDeploy?: boolean;
  /** End of the snooze, which is no acknowledgment any more. */
  readonly endedAt?: number;
}

export interface Incident extends IncidentKind {
  /** The same as long as the incident exists, also after a restart. */
  readonly id: string;
  readonly state: IncidentState;
  /** First and last failure. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Time when the daemon opened it. */
  readonly openedAt: number;
  readonly resolvedAt?: number;
  /** Dead letters that are in their queue now. */
  readonly now: Readonly<Record<DeadLetterQueue, number>>;
  /** Dead letters that were ever members. */
  readonly ever: number;
  /** Members that the service dropped at the end of the retention. */
  readonly expired: number;
  /** Members over time. Absent without a dead letter. */
  readonly rate?: FailureRate;
  readonly deliveries?: FailingDeliveries;
  /** Campaigns that resumed members, newest last. */
  readonly campaigns: readonly string[];
  readonly acknowledged?: Acknowledgment;
  /** Key of the condition that reports it: its own, or that of several incidents. Absent until it is reported. */
  readonly reportedAs?: `incident/${string}`;
  /** Ids of incidents that turned out to be the same. */
  readonly aliases: readonly string[];
}

export interface FailureSpan {
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Returns true if no gap separates the failures of two spans. */
export function touches(a: FailureSpan, b: FailureSpan): boolean {
  return a.firstAt < b.lastAt + ONSET_GAP_MS && b.firstAt < a.lastAt + ONSET_GAP_MS;
}

/** Splits failures of one kind at the gaps. The result does not depend on their order. */
export function splitAtGaps<T extends { readonly at: number }>(failures: readonly T[]): T[][] {
  const parts: T[][] = [];
  let last = -Infinity;
  for (const failure of failures.toSorted((a, b) => a.at - b.at)) {
    if (failure.at - last >= ONSET_GAP_MS) parts.push([]);
    parts.at(-1)!.push(failure);
    last = failure.at;
  }
  return parts;
}

export function membersNow({ now }: Pick<Incident, 'now'>): number {
  return now.workflow + now.message;
}

/** Returns false if the deliveries may have failed before `firstAt`, because older attempts are not known. */
export function isSinceKnown({ firstAt, deliveries }: Pick<Incident, 'firstAt' | 'deliveries'>): boolean {
  return deliveries?.isSinceKnown !== false || deliveries.since > firstAt;
}

/** Returns true if there may be more dead letters than the known ones: no operation lists the message DLQ. */
export function isLowerBound({ kind }: Pick<Incident, 'kind'>): boolean {
  return kind !== 'workflow';
}

/** Acknowledgment that has not ended. */
export function presentAcknowledgment({ acknowledged }: Pick<Incident, 'acknowledged'>): Acknowledgment | undefined {
  return acknowledged?.endedAt === undefined ? acknowledged : undefined;
}

/** Returns true if nobody is notified of the incident for now. */
export function isSnoozed(incident: Pick<Incident, 'acknowledged'>): boolean {
  const { until, untilDeploy = false } = presentAcknowledgment(incident) ?? {};
  return untilDeploy || until !== undefined;
}

/** `until 2026-11-27 16:00:00Z`, or `until a deploy of shop.example`; undefined without a snooze. */
export function snoozeEnd({ acknowledged, place }: Pick<Incident, 'acknowledged' | 'place'>): string | undefined {
  const { until, untilDeploy = false } = acknowledged ?? {};
  if (untilDeploy) return `until a deploy of ${place}`;
  return until === undefined ? undefined : `until ${formatTime(until)}`;
}

/** `anna knows: vendor called`, or `snoozed by anna until a deploy of shop.example: vendor called`; undefined without one. */
export function acknowledgmentText(incident: Pick<Incident, 'acknowledged' | 'place'>): string | undefined {
  const { by, note } = incident.acknowledged ?? {};
  const end = snoozeEnd(incident);
  if (end === undefined) return by && `${by} knows: ${note}`;
  return `snoozed by ${by} ${end}${note === '' ? '' : `: ${note}`}`;
}

/** State in one word: a snooze is an acknowledgment with an end. */
export function stateWord(incident: Pick<Incident, 'acknowledged' | 'place' | 'state'>): IncidentState | 'snoozed' {
  return incident.state === 'acknowledged' && snoozeEnd(incident) !== undefined ? 'snoozed' : incident.state;
}

/** Adds failures to an incident. @param times at least one */
export function withMembers(incident: Incident, queue: DeadLetterQueue, times: readonly number[]): Incident {
  const rate = rateOf(times);
  return {
    ...incident,
    ...times.reduce(
      ({ firstAt, lastAt }, at) => ({ firstAt: Math.min(firstAt, at), lastAt: Math.max(lastAt, at) }),
      incident as FailureSpan,
    ),
    now: { ...incident.now, [queue]: incident.now[queue] + times.length },
    ever: incident.ever + times.length,
    rate: incident.rate === undefined ? rate : addRates(incident.rate, rate),
  };
}

/** Maximum number of campaigns and of former ids that an incident remembers. */
const MOST_REMEMBERED = 20;

/** Returns two incidents as one: the first one's, with the failures of both. */
export function merged(incident: Incident, other: Incident): Incident {
  const rate =
    incident.rate === undefined || other.rate === undefined
      ? (incident.rate ?? other.rate)
      : addRates(incident.rate, other.rate);
  const deliveries = incident.deliveries ?? other.deliveries;
  const acknowledged = presentAcknowledgment(incident) ?? presentAcknowledgment(other) ?? incident.acknowledged;
  return {
    ...incident,
    firstAt: Math.min(incident.firstAt, other.firstAt),
    lastAt: Math.max(incident.lastAt, other.lastAt),
    now: { workflow: incident.now.workflow + other.now.workflow, message: incident.now.message + other.now.message },
    ever: incident.ever + other.ever,
    expired: incident.expired + other.expired,
    rate,
    deliveries,
    acknowledged,
    campaigns: withCampaigns(incident.campaigns, other.campaigns),
    aliases: [...incident.aliases, other.id, ...other.aliases].slice(-MOST_REMEMBERED),
  };
}

export function withCampaigns(known: readonly string[], added: readonly string[]): readonly string[] {
  const fresh = added.filter((id) => !known.includes(id));
  return fresh.length === 0 ? known : [...known, ...fresh].slice(-MOST_REMEMBERED);
}

/** Returns the state of an incident. @param isVerifying true if resumed runs of the incident are not verified yet */
export function stateOf(incident: Omit<Incident, 'state'>, isVerifying: boolean, at: number): IncidentState {
  const { isFailing = false, recoveringSince } = incident.deliveries ?? {};
  if (isVerifying || recoveringSince !== undefined) return 'recovering';
  const isGone = membersNow(incident) === 0 && !isFailing;
  const isAcknowledged = presentAcknowledgment(incident) !== undefined;
  const isQuiet = isAcknowledged && !isSnoozed(incident) && at - incident.lastAt >= QUIET_MS;
  if (isGone || isQuiet) return 'resolved';
  return isAcknowledged ? 'acknowledged' : 'open';
}
