/** The next step for a thing, computed once; pages, API, command line and notifications show it. Pure. */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import { DESTINATION_RULES, isHealthy } from '#foundation/domain/destination-state.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import { manualPlanId } from '#foundation/domain/manual-plan.ts';
import { shellWord } from '#foundation/domain/own-command.ts';
import { coverText } from '#foundation/domain/plan.ts';
import type { Campaign } from '#foundation/domain/campaign.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import { formatTime } from '#foundation/domain/time-text.ts';

export interface NextStep {
  /** What is to be done, as sentences. */
  readonly text: string;
  /** Who does it. `none`: nothing can be done, or the incident recovers by itself. */
  readonly by: 'policy' | 'operator' | 'none';
  /** Name of the policy. */
  readonly policy?: string;
  /** What stops it: `held by arrivals`, `halted`. */
  readonly why?: string | undefined;
  /** Action of the operator. Absent if no command does it. */
  readonly action?: NextAction;
}

/** Action that a page draws as a button, and that the command line prints as a command. */
export type NextAction =
  | { readonly kind: 'approve' | 'reject' | 'cancel' | 'apply'; readonly plan: string }
  | { readonly kind: 'plan'; readonly policy: string }
  | { readonly kind: 'resume'; readonly incident: string }
  | { readonly kind: 'unpause'; readonly policy?: string | undefined; readonly group?: string };

/** Command of an action, without the options of the daemon: `opsd approve ID`. */
export function commandOfAction(action: NextAction): string {
  switch (action.kind) {
    case 'approve':
      return `opsd approve ${action.plan}`;
    case 'reject':
    case 'cancel':
      return `opsd ${action.kind} ${action.plan} --reason TEXT`;
    case 'apply':
      return `opsd apply ${action.plan}`;
    case 'plan':
      return `opsd plan ${shellWord(action.policy)}`;
    case 'resume':
      return `opsd dlq resume --incident ${action.incident} --reason TEXT`;
    case 'unpause': {
      const policy = action.policy === undefined ? '' : ` --policy ${shellWord(action.policy)}`;
      const group = action.group === undefined ? '' : ` --group ${shellWord(action.group)}`;
      return `opsd unpause${policy}${group} --reason TEXT`;
    }
  }
}

/** Policy that a pause is about; undefined for the engine. */
export function pausedPolicy({ scope }: { readonly scope: string }): string | undefined {
  return /^policy\/(.*)$/s.exec(scope)?.[1];
}

/** Action that shows why a condition is active, or that resolves it; undefined if none does. */
export function conditionAction(
  { key, policy, group = '' }: { readonly key: string; readonly policy?: string; readonly group?: string },
  plans: readonly { readonly id: string; readonly policy: string }[],
): NextAction | undefined {
  if (policy === undefined) return undefined;
  const plan = plans.find((one) => one.policy === policy)?.id;
  if (key.startsWith('held/')) return { kind: 'plan', policy };
  if (key.startsWith('halted/')) return { kind: 'unpause', policy, group };
  if (key.startsWith('approval/') && plan !== undefined) return { kind: 'approve', plan };
  return undefined;
}

/** Action that takes an active approval back. */
export function takeBack({ id, policy }: { readonly id: string; readonly policy: string }): NextAction {
  return { kind: manualPlanId(policy) === undefined ? 'reject' : 'cancel', plan: id };
}

const { healthyPercent, settleMs } = DESTINATION_RULES;
const HEALTHY = `${healthyPercent} % of its attempts succeed for ${settleMs / 60_000} minutes`;

/** Facts about an incident. */
export interface IncidentFacts {
  readonly incident: Pick<Incident, 'id' | 'state' | 'cause' | 'kind' | 'deliveries'>;
  readonly membersNow: number;
  /** Policies that select members, with their number of members. */
  readonly policies: readonly (Pick<PolicyStatus, 'name' | 'effectiveMode' | 'held' | 'schedule' | 'nextRunAt'> & {
    readonly selects: number;
  })[];
  /** Stored plans about members. */
  readonly plans: readonly {
    readonly id: string;
    readonly policy: string;
    readonly state: string;
    readonly by?: string;
    readonly expiresAt: number;
    readonly covers: number;
    readonly left?: number;
    readonly held?: { readonly guard: string } | undefined;
  }[];
  readonly campaigns: readonly Pick<Campaign, 'policy' | 'state' | 'reason' | 'group' | 'until'>[];
  /** Attempts of the destination in the last 15 minutes; absent if unknown. */
  readonly destination?: { readonly delivered: number; readonly attempts: number };
}

export function incidentNextStep(facts: IncidentFacts): NextStep {
  const { incident, membersNow, policies, plans, campaigns } = facts;
  const { id, state, cause, kind, deliveries } = incident;
  if (state === 'resolved') return { text: 'Nothing to do: the incident is resolved.', by: 'none' };
  const pending = plans.find((plan) => plan.state === 'pending');
  if (pending !== undefined) {
    const text = `Plan ${pending.id} of ${pending.policy} waits for an approval.`;
    return { text, by: 'operator', action: { kind: 'approve', plan: pending.id } };
  }
  const approved = plans.find((plan) => plan.state === 'approved');
  if (approved !== undefined) {
    const by = approved.by === undefined ? '' : ` by ${approved.by}`;
    const text = `Plan ${approved.id} of ${approved.policy} is approved${by}: ${coverText(approved)}, until ${formatTime(approved.expiresAt)}. It acts when no guard holds it.`;
    return { text, by: 'policy', policy: approved.policy, why: heldBy(approved), action: takeBack(approved) };
  }
  if (deliveries?.recoveringSince !== undefined) {
    const since = formatTime(deliveries.recoveringSince);
    const text = `Wait: the destination delivers again since ${since}. The incident ends when it is healthy: ${HEALTHY}.`;
    return { text, by: 'none' };
  }
  if (state === 'recovering') {
    return { text: 'Wait: the daemon verifies resumed runs before it resumes more.', by: 'policy' };
  }
  const halted = campaigns.find((campaign) => campaign.state === 'halted' || campaign.state === 'audit');
  if (halted !== undefined) return haltedStep(halted, facts);
  if (membersNow === 0) {
    const lost = deliveries?.lost ?? 0;
    const rest =
      lost === 0
        ? ''
        : ` ${counted(lost, 'message')} failed; no operation lists the message DLQ, so it may have dead letters that are not known.`;
    return { text: `Repair the destination: deliveries still fail.${rest}`, by: 'operator' };
  }
  const allActing = policies.filter(({ effectiveMode }) => effectiveMode === 'enforce' || effectiveMode === 'approve');
  const runs = ({ name, nextRunAt, held }: (typeof policies)[number]): boolean =>
    nextRunAt !== undefined || held !== undefined || campaigns.some(({ policy }) => policy === name);
  const acting = allActing.find(runs) ?? allActing[0];
  if (acting !== undefined) {
    const { name, selects, schedule } = acting;
    const selected = `Policy ${name} selects ${formatCount(selects)} of ${formatCount(membersNow)}.`;
    const action: NextAction = { kind: 'plan', policy: name };
    if (runs(acting)) {
      const text = `${selected} Its plan shows what it does next.`;
      return { text, by: 'policy', policy: name, why: heldBy(acting), action };
    }
    const text = `${selected} It runs ${schedule}, and does nothing before.`;
    return { text, by: 'operator', policy: name, why: `runs ${schedule}`, action };
  }
  if (kind === 'destination') {
    const text =
      'Repair the destination. Then publish the messages again: with a plan if their bodies are kept, else at their producer.';
    return { text, by: 'operator' };
  }
  const first =
    cause === 'permanent'
      ? 'Repair the workflow first: an unchanged retry will fail again. Then'
      : 'Check the destination. Then';
  return { text: `${first} resume the runs with a plan.`, by: 'operator', action: { kind: 'resume', incident: id } };
}

function heldBy({ held }: { readonly held?: { readonly guard: string } | undefined }): string | undefined {
  return held && `held by ${held.guard}`;
}

function haltedStep(
  { policy, group, state, until, reason }: IncidentFacts['campaigns'][number],
  { destination }: IncidentFacts,
): NextStep {
  const isDelivering =
    destination !== undefined &&
    destination.attempts > 0 &&
    isHealthy({ delivered: destination.delivered, all: destination.attempts });
  const why = reason === undefined ? '' : `: ${reason}`;
  const end =
    state === 'halted' && until !== undefined
      ? ` It resumes one run after ${formatTime(until)}.`
      : ' It waits for an operator.';
  const first = isDelivering ? 'The destination delivers again: lift the halt.' : 'Repair the cause first.';
  const text = `${first} The campaign of ${policy} is halted${why}.${end}`;
  return {
    text,
    by: 'operator',
    policy,
    why: 'halted',
    ...(isDelivering && { action: { kind: 'unpause', policy, group } }),
  };
}
