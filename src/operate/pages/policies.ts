/** Page of the policies: mode, last and next run, and what holds each of them. */
import type { OwnCommand } from '#foundation/domain/own-command.ts';
import { runNumbersText } from '#foundation/domain/counted.ts';
import { counted, formatCount, formatSpan } from '../api/format.ts';
import { readStatus } from '../api/status.ts';
import type { PolicyView } from '../contract/policies.ts';
import { policyAnchor } from '../api/verdict.ts';
import type { Reply } from '../http/reply.ts';
import { pageCommand, showPage, withCommands, type PageContext } from './frame/page.ts';
import { campaigns } from '../show/campaigns.ts';
import { policyLink } from '../show/paths.ts';
import { type Cell, moment, section, state, sub, table, timePiece, type Tone, wide } from '../show/cell.ts';
import { html, long } from '../show/html.ts';

export async function policiesPage(context: PageContext): Promise<Reply> {
  const { policies: rows, at, storeError } = withCommands(context, await readStatus(context.deps, 0, context.signal));
  return showPage(context, {
    title: 'Policies',
    section: '/policies',
    main: html`${storeError !== undefined && html`<p class="notice trouble">The store cannot be read: ${storeError}</p>`}
    ${section('policies', 'Policies of the configuration', policies(rows, at, pageCommand(context)))}
    ${campaigns(
      rows.flatMap((row) => row.campaigns),
      at,
    )}`,
  });
}

function policies(rows: readonly PolicyView[], now: number, command: OwnCommand): Cell {
  return table<PolicyView>({
    caption: html`To see what a policy would do now, make a plan on its page, or run
      <code>${command('plan POLICY')}</code>. A plan changes nothing until it is applied.`,
    rows,
    rowId: policyAnchor,
    empty: html`No policy is configured: the daemon only reads. Add policies under <code>policies:</code> in the
      configuration. This table then shows their modes, runs and holds.`,
    columns: {
      Policy: wide((row) => [
        policyLink(row.name),
        row.description !== undefined && html`<span class="sub block">${long(row.description)}</span>`,
        html`<span class="sub block">${row.action} · ${row.account} · ${row.source}</span>`,
      ]),
      Mode: wide(modeOf),
      'Last run': (row) => (row.lastRun === undefined ? undefined : moment(row.lastRun.at, now)),
      Outcome: wide((row) => outcomeOf(row, now)),
      'Next run': (row) => [moment(row.nextRunAt, now), sub(row.schedule), pendingTrigger(row, now)],
      Owner: wide((row) => row.owner),
    },
  });
}

export function modeOf(row: PolicyView): Cell {
  const probation = row.probationLeft ?? 0;
  const trial = probation > 0 && sub(`on probation: ${counted(probation, 'more audit run')}`);
  if (row.effectiveMode === row.mode) return [state(row.mode === 'off' ? 'off' : 'ok', row.mode), trial];
  return [
    state('attention', row.effectiveMode),
    sub(`configured as ${row.mode}${row.reducedBy === undefined ? '' : `: ${row.reducedBy}`}`),
    trial,
  ];
}

export function pendingTrigger({ pending, held }: PolicyView, now: number): Cell {
  if (pending === undefined) return undefined;
  const { trigger, alert, count, since } = pending;
  const what = trigger === 'alert' ? `alert ${alert ?? ''}` : 'failure callback';
  const more = count === 1 ? '' : ` and ${formatCount(count - 1)} more`;
  const until = held === undefined ? '' : `, runs when the hold by ${held.guard} ends`;
  return [state('attention', 'trigger pending'), sub(`${what}${more}, for ${formatSpan(now - since)}${until}`)];
}

export const RUN_TONE: Readonly<Record<NonNullable<PolicyView['lastRun']>['outcome'], Tone>> = {
  acted: 'ok',
  would_act: 'ok',
  nothing_to_do: 'ok',
  denied: 'attention',
  pending_approval: 'attention',
  deferred: 'ok',
  held: 'attention',
  skipped: 'attention',
  running: 'off',
  aborted: 'trouble',
  halted: 'trouble',
  incomplete: 'attention',
  failed: 'trouble',
};

export function outcomeOf(row: PolicyView, now: number): Cell {
  const run = row.lastRun;
  const { held } = row;
  const since =
    held !== undefined &&
    html`<span class="sub block"
      >held for ${formatSpan(now - held.since)} by ${held.guard}, since ${timePiece(held.since)}</span
    >`;
  if (run === undefined) return since;
  return [
    state(RUN_TONE[run.outcome], run.outcome.replaceAll('_', ' ')),
    sub(runNumbersText(run)),
    sub(run.detail),
    since,
  ];
}
