/** One policy with what happened to it: its runs, its stored plans, what holds it, and the change of its scope. */
import { isRecord } from '#foundation/domain/json.ts';
import type { PolicyDetail, PolicyVersions } from '../contract/policies.ts';
import type { ApiDeps } from './api-deps.ts';
import type { PolicyScopes } from './reading-ports.ts';
import { statusOf, type StatusDeps } from './status.ts';
import { presentOutages, readStored, runViews } from './stored-status.ts';
import { storedPlanView } from './stored-plans.ts';

const MOST_RUNS = 50;
const MOST_PLANS = 20;

/** @returns the names of the policies if none has this name @throws if the store cannot be read */
export async function readPolicyDetail(
  deps: StatusDeps & Pick<ApiDeps, 'ledger' | 'policyScopes'>,
  name: string,
  signal?: AbortSignal,
): Promise<PolicyDetail | { readonly known: readonly string[] }> {
  const outages = presentOutages(deps);
  const [facts, stored, runs, scopes] = await deps.ledger.view(
    (ledger) =>
      Promise.all([
        readStored(deps, ledger, { actionLimit: 0, outages }),
        ledger.storedPlans(['draft', 'pending', 'approved'], deps.clock.now()),
        ledger
          .runs({ policy: name, limit: MOST_RUNS })
          .then((found) => runViews(found, { ledger, at: deps.clock.now() })),
        deps.policyScopes(name, ledger),
      ]),
    signal,
  );
  const { at, policies, conditions, pauses } = statusOf(deps, outages, facts);
  const policy = policies.find((one) => one.name === name);
  if (policy === undefined) return { known: policies.map((one) => one.name) };
  return {
    at,
    policy,
    runs,
    plans: stored
      .filter(({ plan }) => plan.policy === name)
      .slice(0, MOST_PLANS)
      .map((plan) => storedPlanView(plan, conditions)),
    conditions: conditions.filter((condition) => condition.policy === name),
    pauses: pauses.filter(({ scope }) => isPaused(scope, name)),
    versions: scopes && versionsOf(scopes),
  };
}

/** Returns true for the scope of the engine, of the policy, and of its groups. */
function isPaused(scope: string, policy: string): boolean {
  return scope === 'engine' || scope === `policy/${policy}` || scope.startsWith(`group/${policy}/`);
}

function versionsOf({ present, atLastRun }: PolicyScopes): PolicyVersions {
  if (atLastRun === undefined) return { present };
  return { present, atLastRun, changed: differences(atLastRun, present).toSorted() };
}

/** Returns the paths at which two scopes differ: `atMost.maxPerHour`. */
function differences(before: unknown, after: unknown, path = ''): string[] {
  if (!isRecord(before) || !isRecord(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], path === '' ? key : `${path}.${key}`));
}
