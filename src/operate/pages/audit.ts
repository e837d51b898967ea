/** Page of the audit log: search, and the verification of its chain. */
import { getAudit, type AuditRecordView, type AuditView } from '../contract/audit.ts';
import { counted, formatCount } from '../api/format.ts';
import { searchedAudit, verifiedAudit } from '../api/reading-routes.ts';
import type { Reply } from '../http/reply.ts';
import { folded } from './frame/fields.ts';
import { filterForm, nextLink, readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import {
  type AuditFields,
  type AuditGroup,
  auditGroups,
  auditSentence,
  fieldsText,
  outcomesText,
} from '../show/audit.ts';
import {
  blockText,
  type Cell,
  duration,
  facts,
  idText,
  link,
  moment,
  section,
  state,
  sub,
  table,
  timePiece,
  wide,
} from '#foundation/markup/cell.ts';
import { clipped, html } from '#foundation/markup/html.ts';

export async function auditPage(context: PageContext): Promise<Reply> {
  const { query } = context;
  const view = await searchedAudit({ ...context, query: readFilters(query, getAudit) });
  return showPage(context, {
    title: 'Audit',
    section: '/audit',
    main: html`${filterForm('/audit', query, [
        { name: 'q', label: 'Text', example: 'dlq-8812' },
        { name: 'type', label: 'Type', example: 'intent' },
        { name: 'policy', label: 'Policy' },
        { name: 'by', label: 'Operator' },
        { name: 'since', label: 'Since', example: '2h' },
      ])}
      <ul class="links">
        ${KINDS.map(([title, type]) => html`<li>${link(type === undefined ? '/audit' : `/audit?type=${type}`, title)}</li>`)}
        <li><a href="/audit/verify">Verify the chain</a> <span class="faint">reads the whole log</span></li>
      </ul>
      ${view.damaged > 0 && html`<p class="notice trouble">${counted(view.damaged, 'damaged line matches', 'damaged lines match')}. Verify the chain.</p>`}
      ${section('records', 'Records', records(view))} ${nextLink('/audit', query, view.cursor)}`,
  });
}

/** Kinds that an operator asks for. */
const KINDS: readonly (readonly [string, string?])[] = [
  ['Everything'],
  ['Plans and decisions', 'plan'],
  ['Actions', 'intent'],
  ['Runs', 'run.finished'],
  ['Pauses', 'pause'],
  ['Operations', 'operation'],
];

/** One row for each plan, run or action, with its records folded. */
function records({ records: rows, at, cursor }: AuditView): Cell {
  return table<AuditGroup<AuditRow>>({
    caption: 'Newest first. Records of one plan, run or action are one row.',
    rows: auditGroups(rows.map(({ details, ...record }) => ({ ...details, ...record }))),
    empty:
      cursor === undefined
        ? 'No record matches. Each action, decision, pause and change of the daemon appears here.'
        : 'No record matches in this part of the log. The next page continues.',
    columns: {
      Time: (group) => moment(group.records[0]!.at, at),
      What: wide((group) => {
        const { head, records: all } = group;
        const isIdle = head.type === 'run.finished' && head['acted'] === 0 && head['outcome'] !== 'pending_approval';
        const sentence = auditSentence(head);
        return [
          ...(isIdle ? [html`<span class="faint">${sentence.map(clipped)}</span>`] : sentence),
          sub(outcomesText(all)),
          folded(counted(all.length, 'record'), details(all)),
        ];
      }),
    },
  });
}

type AuditRow = Omit<AuditRecordView, 'details'> & AuditFields;

function details(all: readonly AuditRow[]): Cell {
  return html`<ol class="records">
    ${all.map(
      (one) =>
        html`<li>
          ${timePiece(one.at)} ${all.length > 1 ? auditSentence(one).map(clipped) : one.type}
          ${blockText(fieldsText(one))}
        </li>`,
    )}
  </ol>`;
}

export async function verifyPage(context: PageContext): Promise<Reply> {
  context.mayTakeLong();
  const { isIntact, records: count, finding, head, isTorn, tookMs } = await verifiedAudit(context);
  const [tone, word] = isIntact
    ? (['ok', 'The chain is intact.'] as const)
    : finding === undefined
      ? (['attention', 'The chain is intact up to its last line, which has no end.'] as const)
      : (['trouble', 'The chain is broken.'] as const);
  return showPage(context, {
    title: 'Verification of the audit log',
    section: '/audit',
    isStill: true,
    main: html`<p class="notice ${tone}">${state(tone, word)}</p>
      ${facts({ Records: formatCount(count), Problem: finding && `${finding.problem} (${finding.file}, line ${finding.line})`, 'Last hash': head && idText(head.hash), 'Last line': isTorn && 'without its end: a write in progress, or cut short by a crash', Duration: duration(tookMs) })}
      <p><a href="/audit">Back to the audit log</a></p>`,
  });
}
