/** Plan as a part of a page: what was read, which entries were denied and why, and the actions. Pure. */
import { formatDuration } from '#foundation/domain/duration.ts';
import { allowedOf, expiryText, type Plan, type PlanCampaign, type Proposal } from '#foundation/domain/plan.ts';
import { counted, formatCount } from '../api/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { facts, idText, long, section, state, sub, time, type Fact, type Heading } from './page-parts.ts';
import { table } from './table.ts';

/** Maximum number of listed actions; the rest is counted. The API has all of them. */
const MOST_LISTED = 100;

/** Returns true if an apply of the plan can send something now. */
export function canApply({ state: planState, effectiveMode }: Plan): boolean {
  return planState === 'changes' && ['enforce', 'approve'].includes(effectiveMode);
}

/** @param heading of its parts: `h3` within a section */
export function planMain(plan: Plan, heading: Heading = 'h2'): Html {
  return html`${facts([...authority(plan), ...reading(plan)])} ${checks(plan, heading)} ${sum(plan, heading)}
  ${campaignTable(plan, heading)}
  ${
    plan.notes.length > 0 &&
    section(
      'notes',
      'Notes',
      plan.notes.map((note) => html`<p>${long(note)}</p>`),
      heading,
    )
  }
  ${section('entries', 'Actions', actionTable(plan), heading)}`;
}

function authority({ effectiveMode, mode, state: planState, stopped, needsApproval, overruled }: Plan): Fact[] {
  const settings = Object.entries(overruled?.settings ?? {}).map(([name, value]) => `${name}=${value}`);
  return [
    {
      name: 'Mode',
      value: [effectiveMode, effectiveMode !== mode && sub(`configured as ${mode}`)],
    },
    {
      name: planState === 'aborted' ? 'Aborted' : 'Held',
      value: stopped && [state(planState === 'aborted' ? 'trouble' : 'attention', stopped.guard), ` ${stopped.reason}`],
    },
    { name: 'Approval', value: needsApproval && `${needsApproval.guard}: ${needsApproval.reason}` },
    { name: 'Overruled once', value: overruled && [settings.join(' '), sub(overruled.reason)] },
  ];
}

function reading({ read, evaluationErrors, caps, drain }: Plan): Fact[] {
  return [
    {
      name: 'Read',
      value:
        read &&
        `${counted(read.entries, 'entry', 'entries')} on ${counted(read.pages, 'page')}, ${read.complete ? 'complete' : 'incomplete'}`,
    },
    { name: 'Failed evaluations', value: evaluationErrors > 0 && formatCount(evaluationErrors) },
    {
      name: 'Caps',
      value:
        caps.length > 0 &&
        caps.map(
          ({ scope, window, used, limit, why }) =>
            html`<div>${scope} each ${window}: ${formatCount(used)} of ${formatCount(limit)} ${sub(why)}</div>`,
        ),
    },
    {
      name: 'Estimated end',
      value: drain && [
        drain.ms < 60_000 ? 'this run' : `about ${formatDuration(Math.ceil(drain.ms / 60_000) * 60_000)}`,
        sub(expiryText(drain)),
      ],
    },
  ];
}

function checks({ checks: all }: Plan, heading: Heading): Html | undefined {
  if (all.length === 0) return undefined;
  return section(
    'guards',
    'Guards',
    table<Plan['checks'][number]>({
      caption: 'Checks of groups and facts.',
      rows: all.toSorted((a, b) => Number(a.passed) - Number(b.passed)),
      empty: '',
      columns: [
        { title: 'Guard', cell: (row) => row.guard },
        { title: 'Result', cell: (row) => (row.passed ? state('ok', 'passed') : state('attention', 'not passed')) },
        { title: 'Reason', wide: true, cell: (row) => row.reason },
      ],
    }),
    heading,
  );
}

/** Verifiable sum: the listed entries minus the denied ones are the actions of this run and of later runs. */
function sum(plan: Plan, heading: Heading): Html {
  const { skipped, matched, chosen, backlog } = plan;
  const allowed = allowedOf(plan);
  return section(
    'chosen',
    'Selection',
    html`<dl class="figures">
        <div>
          <dt>Matched</dt>
          <dd>${matched === undefined ? 'unknown' : formatCount(matched)}</dd>
        </div>
        <div>
          <dt>Denied</dt>
          <dd>${matched === undefined ? 'unknown' : formatCount(matched - allowed)}</dd>
        </div>
        <div>
          <dt>Allowed</dt>
          <dd>${formatCount(allowed)}</dd>
        </div>
        <div>
          <dt>In the next run</dt>
          <dd>${formatCount(chosen.length)} <span class="sub">${formatCount(backlog)} in later runs</span></dd>
        </div>
      </dl>
      ${
        skipped.length > 0 &&
        table<Plan['skipped'][number]>({
          caption: 'Entries that are left out, by guard and reason. Those of select and where do not match.',
          rows: skipped,
          empty: '',
          columns: [
            { title: 'Guard', cell: (row) => row.guard },
            { title: 'Reason', wide: true, cell: (row) => row.reason },
            { title: 'Entries', align: 'number', cell: (row) => formatCount(row.count) },
          ],
        })
      }`,
    heading,
  );
}

function campaignTable({ campaigns }: Plan, heading: Heading): Html | undefined {
  if (campaigns.length === 0) return undefined;
  return section(
    'groups',
    'Groups',
    table<PlanCampaign>({
      caption: 'Each group is repaired in steps. A step waits for the outcome of the previous one.',
      rows: campaigns,
      empty: '',
      columns: [
        { title: 'Group', wide: true, cell: (row) => (row.group === '' ? 'all' : row.group) },
        { title: 'Step', align: 'number', cell: (row) => row.step },
        {
          title: 'Now',
          align: 'number',
          cell: (row) => `${formatCount(row.now)} of ${formatCount(row.matched)}`,
        },
        { title: 'Then', cell: (row) => row.next.map(formatCount).join(', ') || undefined },
        {
          title: 'Verified',
          align: 'number',
          cell: (row) => row.judged > 0 && `${formatCount(row.verified)} of ${formatCount(row.judged)}`,
        },
        { title: 'Waits', wide: true, cell: (row) => row.held && `${row.held.guard}: ${row.held.reason}` },
      ],
    }),
    heading,
  );
}

function actionTable({ chosen, deferred = [], backlog }: Plan): Html {
  const acts = [...chosen, ...deferred].slice(0, MOST_LISTED);
  const more = chosen.length + backlog - acts.length;
  return html`${table<Proposal>({
    caption: `${formatCount(chosen.length)} now, ${formatCount(backlog)} in later runs.`,
    rows: acts,
    empty: 'No action. Each entry that the guards allow appears here.',
    columns: [
      { title: 'Target', wide: true, cell: (row) => idText(row.target) },
      { title: 'Action', cell: (row) => html`<span class="nowrap">${row.action}</span>` },
      { title: 'About', wide: true, cell: about },
      { title: 'Failed', cell: (row) => 'failedAt' in row && time(row.failedAt) },
      { title: 'Cause', wide: true, cell: (row) => 'cause' in row && `${row.cause} ${row.status ?? ''}` },
    ],
  })}
  ${more > 0 && html`<p class="faint">And ${formatCount(more)} more, which the guards check when their run begins.</p>`}`;
}

function about(row: Proposal): HtmlValue {
  switch (row.action) {
    case 'workflow-dlq.resume':
    case 'workflow-dlq.delete':
      return [row.workflowUrl, sub(row.workflowRunId)];
    case 'message-dlq.delete':
      return [row.url, sub(row.messageId)];
    case 'message-dlq.prune':
      return `page ${formatCount(row.page)}, at most ${counted(row.items, 'message')}`;
    case 'budget.raise':
      return `from ${formatCount(row.fromUsd)} to ${formatCount(row.toUsd)} US dollars a month`;
  }
}
