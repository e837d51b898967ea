/** Routes of incidents and dead letters. docs/api.md documents them; field names are stable. */
import { z } from 'zod';
import type { Incident } from '#foundation/domain/incident.ts';
import { allow } from '../http/access.ts';
import { nameField, readJson, reasonField } from '../http/json-body.ts';
import { readQuery, textParameter } from '../http/query.ts';
import { HttpError, json, type Reply } from '../http/reply.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { deadLetterQuery } from './dead-letter-query.ts';
import { deadLetterList, deadLetterSample, deadLetterView, findDeadLetter } from './dead-letter-views.ts';
import { findIncident, incidentList, incidentQuery, incidentView, readIncident } from './incident-views.ts';
import { fromLedger, fromStore } from './from-store.ts';
import { knownAccount } from './known-account.ts';
import { actionView } from './run-views.ts';

export const INCIDENT_ROUTES: readonly ApiRoute[] = [
  { path: '/api/v1/incidents', method: 'GET', handle: incidents, query: () => incidentQuery },
  { path: '/api/v1/incidents/{id}', method: 'GET', handle: incident },
  { path: '/api/v1/acknowledge', method: 'POST', handle: acknowledge, body: () => acknowledgeBody },
  { path: '/api/v1/dead-letters', method: 'GET', handle: deadLetters, query: () => deadLetterQuery },
  { path: '/api/v1/dead-letters/{id}', method: 'GET', handle: deadLetter, query: () => entryQuery },
];

async function incidents({ deps, query }: ApiContext): Promise<Reply> {
  await deps.incidents.settled();
  return json(200, incidentList(deps, query));
}

async function incident({ deps, id, signal }: ApiContext): Promise<Reply> {
  await deps.incidents.settled();
  const { detail } = await fromStore(() => readIncident(deps, findIncident(deps, id), signal));
  return json(200, { at: deps.clock.now(), incident: detail });
}

const acknowledgeBody = z.strictObject({ incident: nameField('the id of an incident'), note: reasonField() });

/** Responds with `{"incident": …}`. The audit log has the acknowledgment before it takes effect. */
async function acknowledge(context: ApiContext): Promise<Reply> {
  const { deps, request } = context;
  const { by } = allow(context, 'operator', 'opsd incidents acknowledge ID --note TEXT');
  const asked = await readJson(request, acknowledgeBody, '{"incident": "ID", "note": "TEXT"}');
  const acknowledged = await acknowledgeIncident(deps, asked.incident, { by, note: asked.note });
  return json(200, { incident: incidentView(deps, acknowledged) });
}

/** @throws {HttpError} 404 for an unknown incident, 409 for a resolved one */
export async function acknowledgeIncident(
  deps: ApiContext['deps'],
  id: string,
  person: { readonly by: string; readonly note: string },
): Promise<Incident> {
  await deps.incidents.settled();
  const found = findIncident(deps, id);
  if (found.state === 'resolved') {
    throw new HttpError(409, 'refused', `Incident ${found.id} is resolved, so it cannot be acknowledged.`);
  }
  return deps.incidents.acknowledge(found, person);
}

function deadLetters({ deps, query }: ApiContext): Reply {
  return json(200, deadLetterList(deps, query));
}

const entryQuery = z.strictObject({
  account: textParameter('Account of the dead letter, if several have its id.'),
  body: z
    .enum(['true', 'false'], 'must be true or false')
    .exactOptional()
    .describe('True reads body and headers with one request.'),
});

/**
 * One dead letter, with the actions on it. With `body=true`, at most one request reads its body and headers, which needs
 * the role operator: bodies may have personal data.
 */
async function deadLetter(context: ApiContext): Promise<Reply> {
  const { deps, query, id, signal } = context;
  const { account, body } = readQuery(query, entryQuery);
  const isBodyWanted = body === 'true';
  if (isBodyWanted) allow(context, 'operator', 'opsd dlq show ID --body');
  const found = findDeadLetter(deps, id, knownAccount(deps, account));
  const sample = isBodyWanted ? await deadLetterSample(deps, found, signal) : undefined;
  const actions = await fromLedger(context, (ledger) => ledger.actionsOn(found.account, [id]));
  return json(200, {
    at: deps.clock.now(),
    deadLetter: deadLetterView(deps, found),
    actions: actions.map(actionView),
    ...(sample !== undefined && { sample }),
  });
}
