/** Incidents as the API and the pages show them. Field names are stable. Times are epoch milliseconds. */
import { isAboutFailures } from '#foundation/domain/deploy.ts';
import {
  DEAD_LETTER_QUEUES,
  INCIDENT_STATES,
  isLowerBound,
  isSinceKnown,
  membersNow,
  presentAcknowledgment,
  type DeadLetterQueue,
  type FailingDeliveries,
  type Incident,
  type IncidentState,
} from '#foundation/domain/incident.ts';
import { isStamp } from '#foundation/domain/lineage.ts';
import type { LineageHistory } from '#automate/ledger/history.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import { incidentTitle } from '#observe/incidents/incident-reports.ts';
import type { IncidentDetail, IncidentList, IncidentView, listIncidents } from '../contract/incidents.ts';
import type { QueryOf } from '../contract/route.ts';
import { HttpError } from '../http/reply.ts';
import { incidentHistory, incidentStory } from '../situation/incident-story.ts';
import { commandOfAction, incidentNextStep, type NextAction, type NextStep } from '../situation/next-step.ts';
import type { ApiDeps } from './api-deps.ts';
import { queriedAccounts, queueStatuses, deadLetterRows, type FoundDeadLetter } from './dead-letter-query.ts';
import { deadLetterView } from './dead-letter-views.ts';
import { storedPlanView } from './stored-plans.ts';

export type IncidentDeps = Pick<ApiDeps, 'clock' | 'board' | 'accounts' | 'incidents' | 'policies' | 'ledger'>;

const MOST_COUNTS = 20;
/** A manual plan takes as many ids. */
const MOST_IDS = 1_000;
const MARKS_BEFORE_MS = 3_600_000;

/** Incidents, unresolved ones first, then the newest first. @throws {HttpError} 400, 404 */
export function incidentList(deps: IncidentDeps, query: QueryOf<typeof listIncidents>): IncidentList {
  const { account: wanted, state: states = INCIDENT_STATES, limit, cursor } = query;
  const accounts = queriedAccounts(deps, wanted);
  const matching = deps.incidents
    .all()
    .filter(({ account, state }) => accounts.includes(account) && states.includes(state))
    .toSorted(byUrgency);
  const start = cursor === undefined ? 0 : matching.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && start === 0) {
    const message = 'cursor is not in the list any more: its incident changed its state. Start with the first page.';
    throw new HttpError(400, 'bad_request', message);
  }
  const page = matching.slice(start, start + limit);
  const isMore = start + limit < matching.length;
  return {
    at: deps.clock.now(),
    total: matching.length,
    incidents: page.map((incident) => incidentView(deps, incident)),
    cursor: isMore ? page.at(-1)!.id : undefined,
    queues: queueStatuses(deps, accounts),
  };
}

const URGENCY: Readonly<Record<IncidentState, number>> = { open: 0, recovering: 1, acknowledged: 2, resolved: 3 };

/** Unresolved incidents with known members come first, then those whose failed messages are not known by id. */
function emptiness(incident: Incident): number {
  if (incident.state === 'resolved' || membersNow(incident) > 0) return 0;
  return (incident.deliveries?.lost ?? 0) > 0 ? 1 : 2;
}

export function byUrgency(a: Incident, b: Incident): number {
  return (
    URGENCY[a.state] - URGENCY[b.state] ||
    emptiness(a) - emptiness(b) ||
    b.openedAt - a.openedAt ||
    (a.id < b.id ? -1 : 1)
  );
}

export function incidentView(deps: Pick<IncidentDeps, 'incidents'>, incident: Incident): IncidentView {
  const { now, ever, expired, deliveries, aliases: _aliases, campaigns: _ids, reportedAs: _key, ...rest } = incident;
  const firstExpiresAt = deps.incidents.firstExpiresAt(incident);
  return {
    ...rest,
    isSinceKnown: isSinceKnown(incident),
    acknowledged: presentAcknowledgment(incident),
    deliveries: deliveries && shownDeliveries(deliveries),
    title: incidentTitle(incident),
    members: { now: membersNow(incident), ever, expired, ...now, isLowerBound: isLowerBound(incident) },
    firstExpiresAt,
  };
}

function shownDeliveries({
  earlier: _earlier,
  isSinceKnown: _isKnown,
  ...deliveries
}: FailingDeliveries): NonNullable<IncidentView['deliveries']> {
  return deliveries;
}

/** @throws {HttpError} 404 */
export function findIncident({ incidents }: Pick<IncidentDeps, 'incidents'>, id: string): Incident {
  const found = incidents.find(id);
  if (found !== undefined) return found;
  const message = `Incident ${id.slice(0, 80)} does not exist, or it was resolved more than 30 days ago. \`opsd incidents\` lists the incidents.`;
  throw new HttpError(404, 'not_found', message);
}

/** @throws if the store cannot be read */
export async function incidentDetail(deps: IncidentDeps, incident: Incident): Promise<IncidentDetail> {
  return (await readIncident(deps, incident)).detail;
}

interface ReadIncident {
  readonly detail: IncidentDetail;
  readonly policies: readonly PolicyStatus[];
  /** Next step of an operator. */
  readonly action: NextAction | undefined;
}

/**
 * Returns an incident, and the policies as of the same moment.
 *
 * @param signal ends the reading of the store
 * @throws if the store cannot be read
 */
export async function readIncident(
  deps: IncidentDeps,
  incident: Incident,
  signal?: AbortSignal,
): Promise<ReadIncident> {
  const { account, firstAt } = incident;
  const now = deps.clock.now();
  const members = membersOf(deps, incident);
  const runs = members.flatMap((one) => (one.queue === 'workflow' ? one.row : []));
  const [statuses, stored, lineages, steps, deploys] = await deps.ledger.view(
    (ledger) =>
      Promise.all([
        deps.policies(ledger),
        ledger.storedPlans(['draft', 'pending', 'approved'], now),
        ledger.lineagesOfRuns(
          account,
          runs.map(({ workflowRunId }) => workflowRunId),
        ),
        incident.campaigns.length === 0 ? [] : ledger.stepsOf(account, incident.campaigns),
        ledger.deploys([account], firstAt - MARKS_BEFORE_MS),
      ]),
    signal,
  );
  // The oldest ones expire first.
  const ids = Map.groupBy(members.toReversed(), ({ queue }) => queue);
  const idsOf = (queue: DeadLetterQueue) => (ids.get(queue) ?? []).slice(0, MOST_IDS).map(({ row }) => row.dlqId);
  const urls = members.flatMap((one) => (one.queue === 'workflow' ? one.row.workflowUrl : (one.row.url ?? [])));
  const memberIds = { workflow: idsOf('workflow'), message: idsOf('message') };
  const { next, ...situation } = situationOf(deps, incident, { members, statuses, stored, lineages });
  const { plans, campaigns } = situation;
  const { action, ...shownStep } = next;
  const detail: IncidentDetail = {
    ...incidentView(deps, incident),
    aliases: incident.aliases,
    labels: mostFrequent(members.flatMap(({ row }) => row.labels.filter((label) => !isStamp(label)))),
    flowControlKeys: mostFrequent(
      members.flatMap((one) => (one.queue === 'workflow' ? (one.row.flowControlKey ?? []) : [])),
    ),
    ...situation,
    sample: members[0] && deadLetterView(deps, members[0]),
    endedCampaigns: incident.campaigns.filter((campaign) => !campaigns.some((one) => one.id === campaign)),
    story: incidentStory({
      incident: { ...incident, isSinceKnown: isSinceKnown(incident) },
      plans,
      steps,
      campaigns,
      deploys: deploys.filter((deploy) => isAboutFailures(deploy, incident, urls)).toReversed(),
      marks: deps.incidents
        .marks()
        .filter(({ at }) => at >= firstAt - MARKS_BEFORE_MS && at <= (incident.resolvedAt ?? Infinity)),
    }),
    history: incidentHistory(incident, steps, now),
    memberIds,
    selection:
      memberIds.workflow.length > 0
        ? { account, action: 'resume', queue: 'workflow', ids: memberIds.workflow }
        : undefined,
    next: { ...shownStep, command: action && commandOfAction(action) },
  };
  return { detail, policies: statuses, action };
}

interface SituationFacts {
  /** Members, or a sample of them. */
  readonly members: readonly FoundDeadLetter[];
  readonly statuses: readonly PolicyStatus[];
  readonly stored: readonly StoredPlan[];
  /** Histories of the runs among the members. */
  readonly lineages: ReadonlyMap<string, LineageHistory>;
}

/** Returns what is done about an incident, and the next step. */
export function situationOf(
  deps: Pick<IncidentDeps, 'incidents'>,
  incident: Incident,
  { members, statuses, stored, lineages }: SituationFacts,
): Pick<IncidentDetail, 'destination' | 'policies' | 'plans' | 'campaigns'> & { readonly next: NextStep } {
  const { account, kind, place } = incident;
  const host = kind === 'destination' ? place : mostFrequent(members.map(hostOf))[0]?.name;
  const attempts = host === undefined ? undefined : deps.incidents.attempts(account, host);
  const destination = attempts && { host: host!, delivered: attempts.delivered, attempts: attempts.all };
  const plans = plansOf(stored, incident, members);
  const runs = members.flatMap((one) => (one.queue === 'workflow' ? one.row : []));
  const deadLetters = members.flatMap((one) => (one.queue === 'message' ? one.row : []));
  const selected =
    members.length === 0
      ? new Map<string, number>()
      : deps.incidents.selectedBy(account, { runs, deadLetters, lineages });
  const policies = policiesOf(statuses, incident, selected);
  const campaigns = campaignsOf(statuses, incident, new Set(policies.map(({ name }) => name)));
  const facts = { incident, membersNow: membersNow(incident), policies, plans, campaigns };
  const next = incidentNextStep({ ...facts, ...(destination !== undefined && { destination }) });
  return { destination, policies, plans, campaigns, next };
}

/** Members that the daemon knows now, newest first. */
function membersOf(deps: IncidentDeps, incident: Incident): FoundDeadLetter[] {
  return DEAD_LETTER_QUEUES.flatMap((queue) => [
    ...deadLetterRows(deps, incident.account, queue, new Set(deps.incidents.memberIds(incident, queue))),
  ]).toSorted((a, b) => b.at - a.at);
}

function hostOf({ row }: FoundDeadLetter): string {
  const url = row.url ?? ('workflowUrl' in row ? row.workflowUrl : '');
  return URL.parse(url)?.host ?? url;
}

function mostFrequent(names: readonly string[]): IncidentDetail['labels'] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_COUNTS);
}

function plansOf(
  stored: readonly StoredPlan[],
  { account }: Incident,
  members: readonly FoundDeadLetter[],
): IncidentDetail['plans'] {
  const ids = new Set(members.map(({ row }) => row.dlqId));
  return stored
    .filter(({ plan }) => plan.account === account)
    .map((plan) => ({
      ...storedPlanView(plan),
      members: plan.targets.filter((target) => ids.has(target)).length,
    }))
    .filter((plan) => plan.members > 0);
}

function policiesOf(
  statuses: readonly PolicyStatus[],
  { account }: Incident,
  counts: ReadonlyMap<string, number>,
): IncidentDetail['policies'] {
  return statuses.flatMap((policy) => {
    const selects = policy.account === account ? (counts.get(policy.name) ?? 0) : 0;
    if (selects === 0) return [];
    const { name, action, mode, effectiveMode, reducedBy, held, schedule, nextRunAt } = policy;
    return [
      {
        name,
        action,
        mode,
        effectiveMode,
        schedule,
        selects,
        reducedBy,
        held,
        nextRunAt,
      },
    ];
  });
}

/** Campaigns that resumed members, and those of policies that select members, in the group of the workflow. */
function campaignsOf(
  statuses: readonly PolicyStatus[],
  incident: Incident,
  selecting: ReadonlySet<string>,
): IncidentDetail['campaigns'] {
  const { account: own, place } = incident;
  const isOfPlace = (group: string) => workflowLabel(group) === place || group === place.split('/', 1)[0];
  return statuses
    .filter(({ account }) => account === own)
    .flatMap((policy) => policy.campaigns)
    .filter(({ id, policy, group }) => incident.campaigns.includes(id) || (selecting.has(policy) && isOfPlace(group)))
    .map(({ id, policy, group, state, step, size, judged, verified, until, haltedAt, reason, begunAt }) => ({
      id,
      policy,
      group,
      state,
      step,
      size,
      judged,
      verified,
      begunAt,
      until,
      haltedAt,
      reason,
    }));
}
