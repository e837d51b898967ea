/** Kinds of failures: from an entry of the workflow DLQ, a dead letter, or an outage to what its incident shares. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { classOf, incidentReason } from '#foundation/domain/incident-reason.ts';
import type { IncidentKind } from '#foundation/domain/incident.ts';
import type { Outage } from '#foundation/domain/destination-state.ts';
import { failureCause } from '#foundation/domain/reason.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { workflowLabel } from '#foundation/domain/workflow-label.ts';
import { memoByText } from '#foundation/platform/memo.ts';

type Kind = Omit<IncidentKind, 'account'>;

/** Maximum number of cached texts. */
const REMEMBERED = 5_000;

const labelOf = memoByText(REMEMBERED, workflowLabel);
const reasonOf = memoByText(REMEMBERED, (text) => {
  const [status, error] = text.split('\0', 2);
  return incidentReason(status === '' ? undefined : Number(status), error === '' ? undefined : error);
});

export function kindOfRun({ workflowUrl, responseStatus, responseText }: WorkflowDlqEntry): Kind {
  return {
    kind: 'workflow',
    place: labelOf(workflowUrl),
    reason: reasonOf(`${responseStatus ?? ''}\0${responseText?.replaceAll('\0', '') ?? ''}`),
    cause: failureCause(responseStatus, responseText),
  };
}

/** A failure callback has no text, and its URL may name one of many paths: the host is the destination. */
export function kindOfDeadLetter({ url, topicName, status }: DeadLetter): Kind {
  return {
    kind: 'destination',
    place: (url === undefined ? undefined : URL.parse(url)?.host) ?? topicName ?? 'unknown',
    reason: incidentReason(status, undefined),
    cause: failureCause(status, undefined),
  };
}

/** Kind of the most frequent reason. */
export function kindOfOutage({ host, reasons: [first] }: Outage): Kind {
  const reason = first?.reason ?? 'other';
  const status = /^HTTP (\d+)$/.exec(reason)?.[1];
  const cause =
    status === undefined ? (reason === 'other' ? 'unknown' : 'transient') : failureCause(Number(status), '');
  return { kind: 'destination', place: host, reason: classOf(reason), cause };
}
