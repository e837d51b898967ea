/** Manual plan: made from an operator's selection. The engine treats it as a policy of its own, with a name of its own. */
import type { Selection } from './selection.ts';

/** Origin of a manual plan. */
export interface ManualOrigin {
  /** Operator who made it. */
  readonly by: string;
  readonly reason: string;
  /** Selection with its account. */
  readonly selection: Selection;
}

/** No policy of a configuration can have this prefix. */
const PREFIX = 'manual:';

/** Value of the metric label `policy` for all manual plans together, so that the number of series is bounded. */
const MANUAL_LABEL = '(manual)';

/** Name of the policy of a manual plan. */
export function manualPolicyName(planId: string): string {
  return `${PREFIX}${planId}`;
}

/** Id of the plan whose policy has this name; undefined if it is a policy of the configuration. */
export function manualPlanId(policy: string): string | undefined {
  return policy.startsWith(PREFIX) ? policy.slice(PREFIX.length) : undefined;
}

/** Value of the metric label `policy`. */
export function policyLabel(policy: string): string {
  return manualPlanId(policy) === undefined ? policy : MANUAL_LABEL;
}
