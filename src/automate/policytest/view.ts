/** Plan and results of a run, in the format of the expected values. */
import { isPrune, type ActionRequest } from '../actions/action.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { RunResult } from '../engine/run/run-result.ts';
import type { Expected } from './settings.ts';

/** View with every key that a test can expect: the compiler checks that none is missing. */
type View = { readonly [Key in keyof Expected]-?: unknown };

/** @param ran absent if the step only makes a plan */
export function decisionView(
  plan: Plan,
  ran?: { readonly result: RunResult; readonly sent: readonly ActionRequest[] },
): Readonly<Record<string, unknown>> {
  const view: View = {
    outcome: ran?.result.outcome,
    acted: ran?.result.acted,
    state: plan.state,
    effectiveMode: plan.effectiveMode,
    stopped: ran === undefined ? plan.stopped : ran.result.stopped,
    needsApproval: plan.needsApproval,
    matched: plan.matched,
    backlog: plan.backlog,
    evaluationErrors: plan.evaluationErrors,
    chosen: plan.chosen.map(({ target }) => target),
    chosenCount: plan.chosen.length,
    skipped: plan.skipped,
    campaigns: plan.campaigns,
    requests: ran?.sent.map(requestView),
    requestCount: ran?.sent.length,
    notes: plan.notes,
  };
  return { ...view };
}

function requestView(request: ActionRequest): object {
  const { operation } = request;
  if (operation === 'update-budget') return { operation, dollars: request.dollars };
  if (isPrune(request)) return { operation, filter: readable(request.filter) };
  const { dlqIds } = request;
  if (operation === 'resume-workflow-dlq') return { operation, dlqIds, overrides: request.overrides };
  if (operation === 'publish') return { operation, dlqIds, retries: request.retries, labels: request.labels };
  return { operation, dlqIds };
}

/** Converts times to text. */
function readable(filter: object): object {
  return Object.fromEntries(
    Object.entries(filter).map(([key, value]) => [
      key,
      key === 'toDate' || key === 'fromDate' ? new Date(Number(value)).toISOString().replace('.000Z', 'Z') : value,
    ]),
  );
}
