/** Requests of the pages and the API to the service, with replicas. The owner of an account sends and counts them. */
import type { Incident } from '#foundation/domain/incident.ts';
import { HttpError } from '#operate/http/reply.ts';
import type { Incidents } from '#operate/api/api-deps.ts';
import type { LiveReads, LogApi } from '#operate/api/live-reads.ts';
import type { OtherReplicas } from '#operate/views/shown.ts';
import type { Routing } from './routing.ts';

/** Kind of these commands. */
export const READ = 'read';

/** A request as another replica sends it. */
export type SentRead =
  | { readonly name: 'listLogs'; readonly given: Parameters<LogApi['listLogs']>[0] }
  | { readonly name: 'listWorkflowDlq'; readonly given: Parameters<LogApi['listWorkflowDlq']>[0] }
  | { readonly name: 'readRow'; readonly given: Parameters<Incidents['readRow']>[1] }
  | { readonly name: 'acknowledge'; readonly given: Pick<Incident, 'id'>; readonly person: Person };
type Person = Parameters<Incidents['acknowledge']>[1];

/** Part of this process that answers. */
export interface ReadsHere {
  readonly routing: Pick<Routing, 'requireHere' | 'run'>;
  readonly liveReads: LiveReads;
  readonly incidents: () => Incidents;
}

/** Performs the request of another replica. */
export async function readHere(
  account: string,
  sent: SentRead,
  { routing, liveReads, incidents }: ReadsHere,
  signal: AbortSignal,
): Promise<unknown> {
  routing.requireHere(account);
  switch (sent.name) {
    case 'listLogs':
      return liveReads.read(account, 1, (api) => api.listLogs(sent.given, { signal }));
    case 'listWorkflowDlq':
      return liveReads.read(account, 1, (api) => api.listWorkflowDlq(sent.given, { signal }));
    case 'readRow':
      return incidents().readRow(account, sent.given, signal);
    case 'acknowledge':
      return incidents().acknowledge(found(incidents(), sent.given), sent.person);
  }
}

function found(incidents: Incidents, { id }: Pick<Incident, 'id'>): Incident {
  const incident = incidents.find(id);
  if (incident !== undefined) return incident;
  throw new HttpError(409, 'refused', `The owner of its account has no incident ${id} any more. Try again.`);
}

export function routedReads(here: ReadsHere): OtherReplicas {
  const never = new AbortController().signal;

  function ask<T>(account: string, sent: SentRead, { by = '', signal = never } = {}): Promise<T> {
    const command = { account, kind: READ, by, arguments: sent };
    return here.routing.run(command, signal, () => readHere(account, sent, here, signal) as Promise<T>);
  }

  return {
    logApi: (account) => ({
      listLogs: (given, call) => ask(account, { name: 'listLogs', given }, call),
      listWorkflowDlq: (given, call) => ask(account, { name: 'listWorkflowDlq', given }, call),
    }),
    readRow: (account, { dlqId, workflowRunId }, signal) =>
      ask(account, { name: 'readRow', given: { dlqId, workflowRunId } }, { signal }),
    acknowledge: ({ id, account }, person) =>
      ask(account, { name: 'acknowledge', given: { id }, person }, { by: person.by }),
  };
}
