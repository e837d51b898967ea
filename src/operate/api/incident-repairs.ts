/** Repairs of the open incidents, judged by a sample of their members, so that each status can have them. */
import { DEAD_LETTER_QUEUES, membersNow, type Incident } from '#foundation/domain/incident.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import type { LedgerReader } from './api-deps.ts';
import { deadLetterRows, type FoundDeadLetter } from './dead-letter-query.ts';
import { byUrgency, situationOf, type IncidentDeps } from './incident-views.ts';
import type { Repair } from '../contract/incidents.ts';

export type RepairDeps = Pick<IncidentDeps, 'clock' | 'board' | 'incidents' | 'accounts'>;

/** Maximum number of incidents, of their members that are evaluated, and of rows that are searched for members. */
const MOST_INCIDENTS = 10;
const MOST_MEMBERS = 50;
const MOST_ROWS = 5_000;

/** @returns the repairs by incident. An incident without one has more members than the sample that decides it. */
export async function incidentRepairs(
  deps: RepairDeps,
  ledger: Pick<LedgerReader, 'lineagesOfRuns'>,
  { statuses, stored }: { readonly statuses: readonly PolicyStatus[]; readonly stored: readonly StoredPlan[] },
): Promise<ReadonlyMap<string, Repair>> {
  const open = deps.incidents
    .all()
    .filter(({ state }) => state !== 'resolved')
    .toSorted(byUrgency)
    .slice(0, MOST_INCIDENTS);
  const samples = samplesOf(deps, open);
  const found = [...Map.groupBy(open, ({ account }) => account)].map(async ([account, incidents]) => {
    const runs = incidents.flatMap(({ id }) => samples.get(id)!).flatMap(runIdOf);
    const lineages = await ledger.lineagesOfRuns(account, runs);
    return incidents.flatMap((incident): [string, Repair][] => {
      const members = samples.get(incident.id)!;
      const { by, policy, why, action } = situationOf(deps, incident, { members, statuses, stored, lineages }).next;
      const pendingPlan = action?.kind === 'approve' ? action.plan : undefined;
      const isSure = by === 'policy' || pendingPlan !== undefined || members.length >= membersNow(incident);
      // No text: its numbers would be those of the sample.
      return isSure ? [[incident.id, { by, policy, why, pendingPlan }]] : [];
    });
  });
  return new Map((await Promise.all(found)).flat());
}

function runIdOf(member: FoundDeadLetter): string[] {
  return member.queue === 'workflow' ? [member.row.workflowRunId] : [];
}

function samplesOf(deps: RepairDeps, open: readonly Incident[]): ReadonlyMap<string, readonly FoundDeadLetter[]> {
  const samples = new Map(open.map(({ id }) => [id, [] as FoundDeadLetter[]]));
  for (const account of new Set(open.map((incident) => incident.account))) {
    for (const queue of DEAD_LETTER_QUEUES) {
      for (const found of deadLetterRows(deps, account, queue).take(MOST_ROWS)) {
        const sample = samples.get(deps.incidents.incidentOf(account, queue, found.row.dlqId) ?? '');
        if (sample !== undefined && sample.length < MOST_MEMBERS) sample.push(found);
      }
    }
  }
  return samples;
}
