/**
 * First page: problems, active conditions and pending plans, then policies, actions and sources. Rendered here
 * completely, without a script. Words show all states; color and shape only repeat them. Pure.
 */
import { createHash } from 'node:crypto';
import { withOwnCommands, type OwnCommand } from '#foundation/domain/own-command.ts';
import { formatAge, formatCount, formatSpan, formatTime } from '../api/format.ts';
import { constantMarkup, html, type Html, type HtmlValue } from './html.ts';
import { overflowedLabels } from './label-table.ts';
import { reconciliation } from './reconciliation-table.ts';
import { outageFigures, outageHeadline } from './page-outages.ts';
import { moment, state, sub, time, type Tone } from './page-parts.ts';
import { campaigns, activeConditions, policies, pendingPlans } from './page-policies.ts';
import type { AccountView, ActionView, LabelView, SourceState, SourceView, Status } from '../api/status-views.ts';
import { STYLE } from './style.ts';
import { table } from './table.ts';
import { sourceAnchor } from '../api/verdict.ts';
import type { Problem, VerdictLevel } from '../api/verdict-level.ts';

export interface PageLink {
  readonly label: string;
  readonly href: string;
}

export interface PageOptions {
  readonly links: readonly PageLink[];
  /** Formats a command for this process. */
  readonly command: OwnCommand;
  /** Labels; those with overflowed values are shown. */
  readonly labels?: readonly LabelView[];
  /** Seconds after which the browser reloads the page; absent: never. */
  readonly refreshSeconds?: number;
}

/** Content security policy: the browser may show the page with this style, and nothing else. */
export const PAGE_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const OWN_LINKS: readonly PageLink[] = [
  { label: 'Metrics', href: '/metrics' },
  { label: 'Health', href: '/-/healthy' },
  { label: 'Readiness', href: '/-/ready' },
  { label: 'Status as JSON', href: '/api/v1/status' },
  { label: 'Sources as JSON', href: '/api/v1/sources' },
  { label: 'Policies as JSON', href: '/api/v1/policies' },
  { label: 'Plans as JSON', href: '/api/v1/plans' },
  { label: 'Conditions as JSON', href: '/api/v1/conditions' },
  { label: 'Runs as JSON', href: '/api/v1/runs' },
  { label: 'Actions as JSON', href: '/api/v1/actions' },
  { label: 'Labels as JSON', href: '/api/v1/labels' },
];

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%230b57c2'/%3E%3Cpath d='M3 9h2l2-5 2 8 2-5h2' fill='none' stroke='white' stroke-width='1.6'/%3E%3C/svg%3E";

export function renderPage(given: Status, options: PageOptions): string {
  const status = withOwnCommands(given, options.command);
  const now = status.at;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${options.refreshSeconds !== undefined && html`<meta http-equiv="refresh" content="${options.refreshSeconds}" />`}
        <title>${VERDICT_WORD[status.verdict.level]} · opsd</title>
        <link rel="icon" href="${ICON}" />
        ${constantMarkup(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <a class="skip" href="#verdict">Skip to the status</a>
        <div class="page">
          <header class="head">
            <h1>opsd</h1>
            <p>${status.version} · up ${formatSpan(now - status.startedAt)} · as of ${time(now)}</p>
            <p class="refresh">${refreshLink(options.refreshSeconds)}</p>
          </header>
          <main>
            ${verdict(status)} ${activeConditions(status, options.command)} ${pendingPlans(status, options.command)}
            <section aria-labelledby="policies">
              <h2 id="policies">Policies</h2>
              ${policies(status.policies, now, options.command)}
            </section>
            ${campaigns(status)}
            <section aria-labelledby="actions">
              <h2 id="actions">Last actions</h2>
              ${actions(status, now)}
            </section>
            <section aria-labelledby="sources">
              <h2 id="sources">Sources</h2>
              ${sources(status.sources, now)}
            </section>
            ${reconciliation(status.reconciliation, status.sources)}
            <section aria-labelledby="accounts">
              <h2 id="accounts">Accounts</h2>
              ${accounts(status.accounts)}
            </section>
            ${overflowedLabels(options.labels ?? [])}
          </main>
          <section aria-labelledby="links">
            <h2 id="links">Links</h2>
            <ul class="links">
              ${[...OWN_LINKS, ...options.links].map(link)}
            </ul>
          </section>
        </div>
      </body>
    </html> `.toString();
}

const VERDICT_WORD: Readonly<Record<VerdictLevel, string>> = {
  trouble: 'Trouble',
  attention: 'Attention',
  starting: 'Starting',
  info: 'Note',
  ok: 'All is well',
};

const VERDICT_TONE: Readonly<Record<VerdictLevel, Tone>> = {
  trouble: 'trouble',
  attention: 'attention',
  starting: 'off',
  info: 'off',
  ok: 'ok',
};

function verdict({ verdict: { level, sentence, problems }, outages, at }: Status): Html {
  // The sentence of these levels already begins with the word.
  const word = level === 'ok' || level === 'starting' ? undefined : VERDICT_WORD[level];
  const [outage, ...more] = outages;
  const first = problems[0];
  const headline = outage === undefined ? sentence : outageHeadline(outage, at);
  // Outages come first, each with its own figures.
  const others = problems.slice(Math.max(1, outages.length));
  return html`<div id="verdict" class="verdict ${level}">
    <p>
      ${word === undefined ? state(VERDICT_TONE[level], '') : html`<strong>${state(VERDICT_TONE[level], `${word}:`)}</strong>`}${first?.anchor === undefined ? headline : html`<a href="#${first.anchor}">${headline}</a>`}
    </p>
    ${outage && outageFigures(outage, at)}
    ${more.map((one) => [html`<p>${outageHeadline(one, at)}</p>`, outageFigures(one, at)])}
    ${others.length > 0 && problemList('Also', others.slice(0, OPEN_PROBLEMS))}
    ${
      others.length > OPEN_PROBLEMS &&
      html`<details>
        <summary>${others.length - OPEN_PROBLEMS} more</summary>
        ${problemList('More problems', others.slice(OPEN_PROBLEMS))}
      </details>`
    }
  </div>`;
}

/** Maximum number of visible problems: more would push the conditions and next steps off the screen. */
const OPEN_PROBLEMS = 10;

function problemList(label: string, problems: readonly Problem[]): Html {
  return html`<ul aria-label="${label}">
    ${problems.map(problemItem)}
  </ul>`;
}

function problemItem(problem: Problem): Html {
  return html`<li>
    ${problem.anchor === undefined ? problem.text : html`<a href="#${problem.anchor}">${problem.text}</a>`}
  </li>`;
}

const SOURCE_TONE: Readonly<Record<SourceState, Tone>> = {
  ok: 'ok',
  failing: 'attention',
  stale: 'trouble',
  pending: 'off',
  off: 'off',
};

function sources(rows: readonly SourceView[], now: number): Html {
  return table<SourceView>({
    caption: 'Data from the service, with the last successful read.',
    rows,
    rowId: sourceAnchor,
    empty: 'No collector is registered yet. Each account has seven, which appear after the start of the daemon.',
    columns: [
      { title: 'Source', cell: (row) => html`${row.collector}<span class="sub">${row.account}</span>` },
      {
        title: 'State',
        cell: (row) => state(SOURCE_TONE[row.state], row.state),
      },
      { title: 'Last success', cell: (row) => moment(row.lastSuccessAt, now) },
      { title: 'Schedule', cell: (row) => row.off === undefined && html`<span class="nowrap">${row.schedule}</span>` },
      { title: 'Rows', align: 'number', cell: rowsCell },
      {
        title: 'Failed polls',
        align: 'number',
        cell: (row) => (row.runs === 0 ? undefined : `${formatCount(row.failures)} of ${formatCount(row.runs)}`),
      },
      { title: 'Duration', align: 'number', minor: true, cell: (row) => duration(row.lastDurationMs) },
      {
        title: rows.some((row) => row.off !== undefined) ? 'Last error, or reason for off' : 'Last error',
        wide: true,
        cell: (row) => (row.off === undefined ? lastError(row, now) : html`<span class="faint">${row.off}</span>`),
      },
    ],
  });
}

function rowsCell(row: SourceView): HtmlValue {
  if (row.rows === undefined) return undefined;
  if (row.countedUntilAt !== undefined) {
    const until = html`<span class="sub">counted until</span>${formatTime(row.countedUntilAt).slice(11)}`;
    return [until, sub(lagText(row))];
  }
  return [formatCount(row.rows), (row.dropped ?? 0) > 0 && sub(`${formatCount(row.dropped!)} invalid rows dropped`)];
}

/** `42 min behind, counting at 3.1× real time`. */
function lagText({ lagMs, catchUpRatio }: SourceView): string {
  if (lagMs === undefined) return 'ahead of the local clock';
  const rate = catchUpRatio === undefined ? '' : `, counting at ${catchUpRatio.toFixed(1)}× real time`;
  return `${formatSpan(lagMs)} behind${rate}`;
}

function lastError(row: SourceView, now: number): HtmlValue {
  const failure = row.lastFailure;
  if (failure === undefined) return undefined;
  return html`${failure.reason}: ${failure.message}<span class="sub"
      >${time(failure.at)}, ${formatAge(failure.at, now)}</span
    >`;
}

const ACTION_TONE: Readonly<Record<ActionView['outcome'], Tone>> = {
  accepted: 'ok',
  verified: 'ok',
  confirmed_applied: 'ok',
  pending: 'off',
  confirmed_not_applied: 'off',
  unverified: 'attention',
  unresolvable: 'trouble',
  rejected: 'attention',
  failed_again: 'attention',
  unknown: 'trouble',
};

function actions(status: Status, now: number): Html {
  if (status.storeError !== undefined) {
    return html`<p class="empty">The store cannot be read, so past actions are unknown: ${status.storeError}</p>`;
  }
  return table<ActionView>({
    caption: 'Actions of policies, newest first.',
    rows: status.actions,
    empty: 'No actions so far. Each action of a policy appears here with its entry and its outcome.',
    columns: [
      { title: 'Time', cell: (row) => moment(row.at, now) },
      { title: 'Policy', wide: true, cell: (row) => [row.policy, sub(row.account)] },
      { title: 'Action', cell: (row) => html`<span class="nowrap">${row.action}</span>` },
      {
        title: 'Target',
        wide: true,
        cell: (row) => [html`<span class="id">${row.target}</span>`, sub(row.workflowUrl)],
      },
      { title: 'Attempt', align: 'number', cell: (row) => row.attempt },
      {
        title: 'Outcome',
        wide: true,
        cell: (row) => [
          state(ACTION_TONE[row.outcome], row.outcome.replaceAll('_', ' ')),
          sub(row.done === undefined || row.done === row.items ? undefined : `${formatCount(row.done)} done`),
          sub(row.detail),
          row.newRunId !== undefined && html`<span class="sub">new run <span class="id">${row.newRunId}</span></span>`,
        ],
      },
    ],
  });
}

function accounts(rows: readonly AccountView[]): Html {
  return table<AccountView>({
    caption: 'Requests since midnight UTC, and the daemon’s own limit.',
    rows,
    empty: 'No account is configured.',
    columns: [
      { title: 'Account', wide: true, cell: (row) => row.name },
      { title: 'Message API', wide: true, cell: (row) => row.messageApiUrl ?? 'not configured' },
      { title: 'Management API', wide: true, cell: (row) => row.managementApiUrl ?? 'not configured' },
      {
        title: 'Requests today',
        cell: (row) =>
          row.usage.length === 0
            ? undefined
            : row.usage.map(
                (usage) =>
                  html`<div>${usage.api} ${formatCount(usage.usedToday)} of ${formatCount(usage.allowedPerDay)}</div>`,
              ),
      },
    ],
  });
}

function duration(ms: number | undefined): HtmlValue {
  if (ms === undefined) return undefined;
  return html`<span class="nowrap">${ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`}</span>`;
}

function refreshLink(seconds: number | undefined): Html {
  return seconds === undefined
    ? html`<a href="/?refresh=10">Reload every 10 s</a>`
    : html`Reloads every ${seconds} s. <a href="/">Stop</a>`;
}

/** Link to a page; URLs with other schemes are shown as text. */
function link(value: PageLink): Html {
  const followable = /^(https?:\/\/|\/(?!\/))/i.test(value.href);
  return followable
    ? html`<li><a href="${value.href}">${value.label}</a></li>`
    : html`<li>${value.label}: ${value.href}</li>`;
}
