import { formatDuration } from '#foundation/domain/duration.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Policy, PolicyWhen } from './policy.ts';

/** Returns when a policy runs, as text: `every 5m, and on alert BillingDown`. */
export function whenText(when: PolicyWhen): string {
  if ('byHand' in when) return 'manually';
  const parts = [
    'every' in when && `every ${formatDuration(when.every)}`,
    'cron' in when && `${when.cron} ${when.timezone}`,
    'alert' in when && `on alert ${when.alert}`,
    'failureCallback' in when && 'on failure callbacks',
    'afterDeploy' in when && `${formatDuration(when.afterDeploy)} after a deploy`,
  ];
  return parts.filter((part) => part !== false).join(', and ');
}

/** Returns the part of a policy's status that is known without its ledger. */
export function configuredStatus(policy: Policy) {
  const { name, account, action, owner, description, source, when, mode } = policy;
  const schedule = whenText(when);
  return {
    name,
    account,
    action: action.type,
    owner,
    description,
    source,
    schedule,
    mode,
  } satisfies Partial<PolicyStatus>;
}
