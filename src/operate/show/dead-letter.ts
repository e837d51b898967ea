/** One dead letter: its failure, its last response, its body if it was read, and the actions on it. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import { formatSize } from '#foundation/domain/size.ts';
import { actions } from './actions.ts';
import { incidentPath, messagePath } from '../contract/page-paths.ts';
import {
  blockText,
  type Cell,
  type Facts,
  facts,
  faint,
  idLink,
  moment,
  nextStep,
  notice,
  paragraph,
  section,
  sub,
  timePiece,
} from '#foundation/markup/cell.ts';
import type {
  DeadLetterSample,
  DeadLetterView,
  getDeadLetter,
  KeptBodyView,
  RetriggerView,
} from '../contract/dead-letters.ts';
import type { AnswerOf } from '../contract/route.ts';

/** @param offer way to read the body, if it was not read */
export function deadLetterSheet(document: AnswerOf<typeof getDeadLetter>, offer?: Cell): Cell {
  const { deadLetter, body, sample, retriggers, actions: acted, at } = document;
  const { responseText } = deadLetter;
  return [
    aboutDeadLetter(deadLetter, body, at),
    retriggers.map((retrigger) => newRun(retrigger, deadLetter.account)),
    responseText !== undefined && section('response', 'Last response', blockText(responseText)),
    sample === undefined ? offer : samplePart(sample),
    section('actions', 'Actions of the daemon', actions({ actions: acted }, at)),
  ];
}

function aboutDeadLetter(view: DeadLetterView, body: KeptBodyView | undefined, at: number): Facts {
  const { account, incident, workflowRunId, messageId, retried, maxRetries } = view;
  const link = (id: string | undefined) => id !== undefined && idLink(messagePath(id, account), id);
  const most = maxRetries !== undefined && `at most ${formatCount(maxRetries)}`;
  return facts({
    Queue: `${view.queue} DLQ of ${account}`,
    Reason: view.reason,
    Cause: view.cause,
    Failed: moment(view.failedAt, at),
    Expires: moment(view.expiresAt, at) ?? 'unknown: limits.dlqRetention is not set',
    Incident: incident !== undefined && idLink(incidentPath(incident), incident),
    Workflow: view.workflowUrl,
    Run: link(workflowRunId),
    Message: link(messageId),
    Destination: view.url,
    Method: view.method,
    'URL Group': view.topicName,
    Schedule: view.scheduleId,
    Labels: view.labels.length > 0 && view.labels.join(', '),
    'Flow-control key': view.flowControlKey,
    'Failure function': view.failureFunctionState,
    Retries: retried === undefined ? most : [formatCount(retried), sub(most)],
    Caller: view.callerIp,
    Body: body?.size === undefined ? body?.reason : [formatSize(body.size), sub(['dropped ', moment(body.until, at)])],
  });
}

function newRun({ workflowRunId, state: now, text, by, reason, isEdited, at }: RetriggerView, account: string): Cell {
  const started = ['started ', timePiece(at), ` by ${by}, with ${isEdited ? 'another' : 'the same'} body: ${reason}`];
  const run = [idLink(messagePath(workflowRunId, account), workflowRunId), sub(started)];
  return section(workflowRunId, `New run: ${now.replaceAll('_', ' ')}`, [paragraph(...run), nextStep(text, undefined)]);
}

function samplePart({ headers, body, responseHeaders, responseBody, isCut, problem }: DeadLetterSample): Cell {
  if (problem !== undefined) return notice('attention', problem);
  const parts = { Headers: headers, Body: body, 'Response headers': responseHeaders, 'Response body': responseBody };
  return [
    ...Object.entries(parts).map(([title, part], index) => {
      const text = typeof part === 'string' ? part : JSON.stringify(part, undefined, 2);
      return text !== undefined && section(`sample-${index}`, title, blockText(text));
    }),
    isCut && faint('Long texts are cut.'),
  ];
}
