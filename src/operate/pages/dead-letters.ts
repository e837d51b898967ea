/** Pages of the dead letters of both queues: filters, a selection that becomes a plan, and one dead letter. */
import { searchDeadLetters, type DeadLetterList, type DeadLetterView } from '../contract/dead-letters.ts';
import { DEAD_LETTER_QUEUES } from '#foundation/domain/incident.ts';
import { FAILURE_CAUSES } from '#foundation/domain/reason.ts';
import { counted, formatCount } from '../api/format.ts';
import type { FoundDeadLetter } from '../api/dead-letter-query.ts';
import { deadLetterDetail, deadLetterList, findDeadLetter } from '../api/dead-letter-views.ts';
import { editableText } from '../api/edited-message.ts';
import { fromLedger } from '../api/from-store.ts';
import { allow, mayUse } from '../http/access.ts';
import type { Reply } from '../http/reply.ts';
import { selectsEverything } from './dead-letter-selection.ts';
import { reasonInput } from './frame/fields.ts';
import { accountField, filteredAccount, filterForm, queryFilters, nextLink, readFilters } from './frame/filters.ts';
import { addressOf, formFor, pageCommand, showPage, withCommands, type PageContext } from './frame/page.ts';
import { queueProblems } from './incidents.ts';
import { deadLetterSheet } from '../show/dead-letter.ts';
import { deadLetterPath, incidentPath } from '../contract/page-paths.ts';
import { shellWord } from '#foundation/domain/own-command.ts';
import { address, type Cell, idLink, moment, section, sub, table, wide } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';

export async function deadLettersPage(context: PageContext): Promise<Reply> {
  const { deps, query } = context;
  await deps.incidents.settled();
  const list = deadLetterList(deps, readFilters(query, searchDeadLetters));
  const isChoosable = mayUse(context, 'operator') && list.total > 0;
  const listing = html`${rows(list, isChoosable)} ${isChoosable && decision(context, list)}`;
  return showPage(context, {
    title: 'Dead letters',
    section: '/dead-letters',
    main: html`${filterForm('/dead-letters', query, [
      { name: 'queue', label: 'Queue', options: DEAD_LETTER_QUEUES },
      ...accountField(deps.accounts),
      { name: 'label', label: 'Label' },
      { name: 'workflowUrl', label: 'Workflow URL' },
      { name: 'url', label: 'Destination', example: 'host or URL' },
      { name: 'responseStatus', label: 'Status', example: '5xx' },
      { name: 'cause', label: 'Cause', options: FAILURE_CAUSES },
      { name: 'incident', label: 'Incident' },
      { name: 'flowControlKey', label: 'Flow-control key' },
      { name: 'since', label: 'Since', example: '2h' },
    ])}
    ${queueProblems(list)}
    ${section(
      'dead-letters',
      counted(list.total, 'dead letter'),
      isChoosable
        ? formFor(context, {
            role: 'operator',
            action: addressOf(context),
            label: 'Selection',
            content: html`<div class="selection">${listing}</div>`,
          })
        : listing,
    )}
    ${nextLink('/dead-letters', query, list.cursor)}`,
  });
}

function rows({ deadLetters, at }: DeadLetterList, isChoosable: boolean): Cell {
  return table<DeadLetterView>({
    caption: 'Newest first, as of the last reading.',
    rows: deadLetters,
    empty:
      'No dead letter matches. Failed runs appear here after the next reading, failed messages after their failure callback.',
    columns: {
      Id: wide((row) => [
        isChoosable && html`<input type="checkbox" name="id" value="${row.id}" aria-label="Select ${row.id}" /> `,
        idLink(deadLetterPath(row), row.id),
        sub(`${row.queue} DLQ · ${row.account}`),
      ]),
      Reason: wide((row) => [row.reason, sub(row.cause)]),
      Destination: wide((row) => [address(row.workflowUrl ?? row.url ?? ''), sub(row.labels.join(', '))]),
      Incident: (row) => row.incident !== undefined && idLink(incidentPath(row.incident), row.incident),
      Failed: (row) => moment(row.failedAt, at),
      Expires: (row) => moment(row.expiresAt, at),
    },
  });
}

/** Choices of the plan. All that match can only be chosen with a filter. */
function decision(context: PageContext, { total }: DeadLetterList): Cell {
  const query = queryFilters(context.query);
  const queue = query.get('queue');
  return html`<fieldset class="acts">
    <legend>Make a plan</legend>
    <label hidden><input type="checkbox" data-all /> Select this page</label>
    <label><input type="radio" name="scope" value="selected" checked /> <span data-count>selected</span></label>
    ${
      selectsEverything(query)
        ? html`<span class="faint">Add a filter to choose all that match.</span>`
        : html`<label><input type="radio" name="scope" value="all" /> all ${formatCount(total)} that match</label>`
    }
    ${reasonInput()}
    ${
      queue !== 'message' &&
      html`<button name="act" value="resume">Plan to resume runs</button>
        <button name="act" value="delete" class="danger">Plan to delete runs</button>`
    }
    ${
      queue !== 'workflow' &&
      html`<button name="act" value="republish">Plan to publish messages again</button>
        <button name="act" value="delete-messages" class="danger">Plan to delete messages</button>`
    }
    <span class="faint">A plan is about one queue of one account. It changes nothing until you apply it.</span>
  </fieldset>`;
}

/** Reading the body sends a request and shows personal data, so it needs the role operator. */
export async function deadLetterPage(context: PageContext): Promise<Reply> {
  const { deps, id } = context;
  const isBodyWanted = context.query.get('body') === 'true';
  if (isBodyWanted) allow(context, 'operator', 'opsd dlq show ID --body');
  const found = findDeadLetter(deps, id, filteredAccount(context));
  const document = await deadLetterDetail(context, found, isBodyWanted);
  const { deadLetter, body } = document;
  const isOfRun = deadLetter.queue === 'workflow';
  const offer =
    mayUse(context, 'operator') &&
    (isOfRun || body?.size !== undefined) &&
    html`<p>
      <a href="${deadLetterPath(deadLetter)}&amp;body=true">Read body and headers</a>
      ${isOfRun && html`<span class="faint">sends one request</span>`}
    </p>`;
  return showPage(context, {
    title: `Dead letter ${deadLetter.id}`,
    section: '/dead-letters',
    isStill: true,
    main: [
      deadLetterSheet({ ...document, retriggers: withCommands(context, document.retriggers) }, offer),
      isOfRun &&
        html`<p class="faint">
          <code>${pageCommand(context)(`dlq retrigger ${shellWord(deadLetter.id)} --reason TEXT`)}</code> starts a new
          run with the same body, or another one, for the role admin. All steps run again, also those that had finished.
        </p>`,
      !isOfRun && body?.size !== undefined && (await republishForm(context, found)),
    ],
  });
}

/** A browser drops the first line end of a text field. */
const FIRST_LINE_END = '\n';

/** Plan to publish the message again, with its body in a field. */
async function republishForm(context: PageContext, { account, row }: FoundDeadLetter): Promise<Cell> {
  if (!mayUse(context, 'operator')) return undefined;
  const read = await fromLedger(context, (ledger) => context.deps.bodies.read(account, row.dlqId, ledger));
  if ('reason' in read) return undefined;
  const body = editableText(read.kept.body);
  return section(
    'republish',
    'Publish it again',
    formFor(context, {
      role: 'operator',
      action: deadLetterPath({ id: row.dlqId, account }),
      label: 'Publish it again',
      content: html`${
          'text' in body
            ? html`<label
                >Body <textarea name="body" rows="8" spellcheck="false">${FIRST_LINE_END}${body.text}</textarea>
              </label>`
            : html`<span class="faint"
                >To change it, use <code>opsd dlq republish ${row.dlqId} --body FILE</code>: ${body.reason}.</span
              >`
        }
        ${reasonInput()}
        <button name="act" value="republish">Plan to publish it again</button>
        <span class="faint">A plan changes nothing until you apply it.</span>`,
    }),
  );
}
