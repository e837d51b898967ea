/** What waits for an operator: decisions about plans, pauses and halts, each beside its buttons. */
import { pausedPolicy } from '../situation/next-step.ts';
import { formatAge } from '../api/format.ts';
import type { Status } from '../api/stored-status.ts';
import { planPath } from '../contract/page-paths.ts';
import type { StoredPlanView } from '../contract/plans.ts';
import type { PolicyView } from '../contract/policies.ts';
import { moment, state, type Cell } from '#foundation/markup/cell.ts';
import { clipped, html, message } from '#foundation/markup/html.ts';
import { planTitle } from '../show/plan-acts.ts';
import { folded } from './frame/fields.ts';
import type { PageContext } from './frame/page.ts';
import { actionPart, decisionForm } from './next-action.ts';

const MOST = 2;

type Campaign = PolicyView['campaigns'][number];

/** @returns undefined if nothing waits */
export function toDo(status: Status, context: PageContext): Cell {
  const rows = [
    ...status.plans.map((plan) => planRow(plan, status.at, context)),
    // Someone who paused one policy knows of it.
    ...status.pauses
      .filter(({ scope, by }) => scope === 'engine' || by === 'engine')
      .map((pause) => pauseRow(pause, status.at, context)),
    // A halt with an end ends by itself.
    ...status.policies
      .flatMap(({ campaigns }) => campaigns)
      .filter((campaign) => campaign.state === 'audit')
      .map((campaign) => haltRow(campaign, context)),
  ];
  if (rows.length === 0) return undefined;
  const more = html`<ul class="rows" aria-label="More to do">
    ${rows.slice(MOST)}
  </ul>`;
  return html`<ul class="rows" aria-label="To do">
      ${rows.slice(0, MOST)}
    </ul>
    ${rows.length > MOST && folded(`${rows.length - MOST} more to do`, more)}`;
}

function row(title: Cell, why: Cell, buttons: Cell): Cell {
  return html`<li class="todo">
    <div>
      <strong>${title}</strong>
      <p class="faint">${why}</p>
    </div>
    ${buttons}
  </li>`;
}

function planRow(plan: StoredPlanView, at: number, context: PageContext): Cell {
  const { id, policy, account, savedAt, expiresAt, needsApproval, madeBy } = plan;
  const by = madeBy ?? policy;
  return row(
    state('ask', `${planTitle(plan)}?`),
    html`asked by ${by} for ${account} ${moment(savedAt, at)}, expires
    ${moment(expiresAt, at)}${needsApproval && html` · ${message(clipped(needsApproval.reason.split(';', 1)[0]!))}`}`,
    html`<div class="act">
      ${decisionForm(context, plan, { isShort: true })}
      <a class="button quiet" href="${planPath(id)}">Read plan ${id}</a>
    </div>`,
  );
}

function pauseRow(pause: Status['pauses'][number], at: number, context: PageContext): Cell {
  const policy = pausedPolicy(pause);
  return row(
    state(
      pause.by === 'engine' ? 'trouble' : 'off',
      policy === undefined ? 'All policies are paused' : `${policy} is paused`,
    ),
    html`${pause.by === 'engine' ? 'by the daemon itself' : `by ${pause.by}`} ${formatAge(pause.at, at)}:
    ${message(clipped(pause.reason))}`,
    actionPart(context, { kind: 'unpause', policy }),
  );
}

function haltRow({ policy, group, reason }: Campaign, context: PageContext): Cell {
  return row(
    state('attention', `${policy} has halted ${group === '' ? 'all' : clipped(group)}`),
    reason !== undefined && message(clipped(reason)),
    actionPart(context, { kind: 'unpause', policy, group }),
  );
}
