/** Routes of incidents and dead letters. */
import type { Acknowledgment, Incident } from '#foundation/domain/incident.ts';
import { futureTime } from '#foundation/domain/past-time.ts';
import * as letters from '../contract/dead-letters.ts';
import * as incidents from '../contract/incidents.ts';
import { allow } from '../http/access.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { deadLetterDetail, deadLetterList, findDeadLetter } from './dead-letter-views.ts';
import { findIncident, incidentList, incidentView, readIncident } from './incident-views.ts';
import { fromStore } from './from-store.ts';
import { implement, type Given } from './implement.ts';
import { knownAccount } from './known-account.ts';
import { retrigger } from './retrigger.ts';

const LONGEST_SNOOZE_MS = 90 * 86_400_000;

export const INCIDENT_ROUTES: readonly ApiRoute[] = [
  implement(incidents.listIncidents, async ({ deps, query }) => {
    await deps.incidents.settled();
    return incidentList(deps, query);
  }),
  implement(incidents.getIncident, async ({ deps, id, signal }) => {
    await deps.incidents.settled();
    const { detail } = await fromStore(() => readIncident(deps, findIncident(deps, id), signal));
    return { at: deps.clock.now(), incident: detail };
  }),
  implement(incidents.acknowledgeIncident, acknowledged),
  implement(incidents.snoozeIncident, acknowledged),
  implement(letters.searchDeadLetters, ({ deps, query }) => deadLetterList(deps, query)),
  implement(letters.getDeadLetter, async (given) => {
    const { deps, query, id } = given;
    const isBodyWanted = query.body === 'true';
    if (isBodyWanted) allow(given, 'operator', 'opsd dlq show ID --body');
    return deadLetterDetail(given, findDeadLetter(deps, id, knownAccount(deps, query.account)), isBodyWanted);
  }),
  implement(letters.retriggerRun, retrigger),
];

interface Person {
  readonly by: string;
  readonly note?: string;
  /** Makes it a snooze: `deploy`, or a time. */
  readonly until?: string | undefined;
}

async function acknowledged({
  deps,
  body,
  by,
}: Given<typeof incidents.acknowledgeIncident | typeof incidents.snoozeIncident>) {
  const { incident, ...given } = body;
  return { incident: incidentView(deps, await acknowledge(deps, incident, { by, ...given })) };
}

/** @throws {HttpError} 400 for a time that is not ahead, 404 for an unknown incident, 409 for a resolved one */
export async function acknowledge(
  deps: ApiContext['deps'],
  id: string,
  { by, note = '', until }: Person,
): Promise<Incident> {
  const end = until === undefined ? {} : endOf(until, deps.clock.now());
  await deps.incidents.settled();
  const found = findIncident(deps, id);
  if (found.state === 'resolved') {
    throw new HttpError(409, 'refused', `Incident ${found.id} is resolved, so it cannot be acknowledged or snoozed.`);
  }
  return deps.incidents.acknowledge(found, { by, note, ...end });
}

function endOf(until: string, now: number): Pick<Acknowledgment, 'until' | 'untilDeploy'> {
  if (until === 'deploy') return { untilDeploy: true };
  const end = futureTime(until, now) ?? 0;
  if (end > now && end <= now + LONGEST_SNOOZE_MS) return { until: end };
  throw new HttpError(400, 'bad_request', 'until must be in the future, and at most 90 days ahead.');
}
