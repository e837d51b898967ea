/** Page of the audit log: search, and the verification of its chain. */
import { getAudit, type AuditRecordView, type AuditView } from '../contract/audit.ts';
import { counted, formatCount } from '../api/format.ts';
import { searchedAudit, verifiedAudit } from '../api/reading-routes.ts';
import type { Reply } from '../http/reply.ts';
import { filterForm, nextLink, readFilters } from './frame/filters.ts';
import { showPage, type PageContext } from './frame/page.ts';
import {
  type Cell,
  duration,
  facts,
  idText,
  minor,
  moment,
  numberColumn,
  section,
  state,
  table,
  whole,
  wide,
} from '../show/cell.ts';
import { html } from '../show/html.ts';

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
      <p><a href="/audit/verify">Verify the chain</a> <span class="faint">reads the whole log</span></p>
      ${view.damaged > 0 && html`<p class="notice trouble">${counted(view.damaged, 'damaged line matches', 'damaged lines match')}. Verify the chain.</p>`}
      ${section('records', 'Records', records(view))} ${nextLink('/audit', query, view.cursor)}`,
  });
}

function records({ records: rows, at, cursor }: AuditView): Cell {
  return table<AuditRecordView>({
    caption: 'Newest first.',
    rows,
    empty:
      cursor === undefined
        ? 'No record matches. Each action, decision, pause and change of the daemon appears here.'
        : 'No record matches in this part of the log. The next page continues.',
    columns: {
      Time: (row) => moment(row.at, at),
      Type: (row) => whole(row.type),
      By: wide((row) => row.by),
      Reason: wide((row) => row.reason),
      Policy: wide((row) => row.policy),
      Details: wide(({ details }) => detailsOf(details)),
      Number: minor(numberColumn((row) => formatCount(row.sequence))),
    },
  });
}

function detailsOf(details: AuditRecordView['details']): string | undefined {
  const texts = Object.entries(details).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return texts.length === 0 ? undefined : texts.join(' ');
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
