/** Page of one dead letter, with its actions; operators can read its body. */
import { deadLetterSample, deadLetterView, findDeadLetter } from '../api/dead-letter-views.ts';
import { formatCount } from '../api/format.ts';
import { knownAccount } from '../api/known-account.ts';
import { fromLedger } from '../api/from-store.ts';
import { actionView } from '../api/run-views.ts';
import { allow, mayUse } from '../http/access.ts';
import type { Reply } from '../http/reply.ts';
import { actions } from './actions-table.ts';
import { filtersOf } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import { html, type Html } from './html.ts';
import { blockText, facts, idLink, moment, section } from './page-parts.ts';
import { deadLetterPath, incidentPath, messagePath } from './paths.ts';
import type { DeadLetterSample, DeadLetterView } from '../contract/dead-letters.ts';

/** Reading the body sends a request and shows personal data, so it needs the role operator. */
export async function deadLetterPage(context: PageContext): Promise<Reply> {
  const { deps, id, signal } = context;
  const query = filtersOf(context.query);
  const isBodyWanted = query.get('body') === 'true';
  if (isBodyWanted) allow(context, 'operator', 'opsd dlq show ID --body');
  const found = findDeadLetter(deps, id, knownAccount(deps, query.get('account') ?? undefined));
  const sample = isBodyWanted ? await deadLetterSample(deps, found, signal) : undefined;
  const view = deadLetterView(deps, found);
  const at = deps.clock.now();
  const acted = await fromLedger(context, (ledger) => ledger.actionsOn(found.account, [id]));
  const rows = acted.map(actionView);
  return showPage(context, {
    title: `Dead letter ${view.id}`,
    section: '/dead-letters',
    isStill: true,
    main: html`${aboutDeadLetter(view, at)}
    ${view.responseText !== undefined && section('response', 'Last response', blockText(view.responseText))}
    ${
      sample === undefined
        ? mayUse(context, 'operator') &&
          view.queue === 'workflow' &&
          html`<p>
            <a href="${deadLetterPath(view)}&amp;body=true">Read body and headers</a>
            <span class="faint">sends one request</span>
          </p>`
        : samplePart(sample)
    }
    ${section('actions', 'Actions of the daemon', actions({ actions: rows }, at))}`,
  });
}

function aboutDeadLetter(view: DeadLetterView, at: number): Html {
  const { account, incident, workflowRunId, messageId } = view;
  const link = (id: string | undefined) => id !== undefined && idLink(messagePath(id, account), id);
  return facts([
    { name: 'Queue', value: `${view.queue} DLQ of ${account}` },
    { name: 'Reason', value: view.reason },
    { name: 'Cause', value: view.cause },
    { name: 'Failed', value: moment(view.failedAt, at) },
    { name: 'Expires', value: moment(view.expiresAt, at) ?? 'unknown: limits.dlqRetention is not set' },
    {
      name: 'Incident',
      value: incident !== undefined && idLink(incidentPath(incident), incident),
    },
    { name: 'Workflow', value: view.workflowUrl },
    { name: 'Run', value: link(workflowRunId) },
    { name: 'Message', value: link(messageId) },
    { name: 'Destination', value: view.url },
    { name: 'Labels', value: view.labels.length > 0 && view.labels.join(', ') },
    { name: 'Flow-control key', value: view.flowControlKey },
    { name: 'Failure function', value: view.failureFunctionState },
    { name: 'Retries', value: view.maxRetries !== undefined && formatCount(view.maxRetries) },
    { name: 'Caller', value: view.callerIp },
  ]);
}

function samplePart({ headers, body, responseHeaders, responseBody, isCut, problem }: DeadLetterSample): Html {
  if (problem !== undefined) return html`<p class="notice attention">${problem}</p>`;
  const parts = [
    ['Headers', headers === undefined ? undefined : JSON.stringify(headers, undefined, 2)],
    ['Body', body],
    ['Response headers', responseHeaders === undefined ? undefined : JSON.stringify(responseHeaders, undefined, 2)],
    ['Response body', responseBody],
  ] as const;
  return html`${parts.map(([title, text], index) => text !== undefined && section(`sample-${index}`, title, blockText(text)))}
  ${isCut && html`<p class="faint">Long texts are cut.</p>`}`;
}
