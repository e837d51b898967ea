/**
 * Destinations that are down: the data of the log and the workflow DLQ, and the reaction of policies. Pure. Field names
 * are the API's (`/api/v1/status`). Times are epoch milliseconds.
 */
import type { Outage } from '#foundation/domain/destination-state.ts';
import { coverText } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { formatAge, formatSpan, formatTime } from '#foundation/domain/time-text.ts';
import type { IncidentFacts } from './next-step.ts';

export interface OutageReaction {
  readonly policy: string;
  readonly text: string;
  /** True if the policy will resume runs without an operator. */
  readonly isActing: boolean;
}

export interface OutageView extends Omit<Outage, 'host'> {
  readonly account: string;
  readonly destination: string;
  /** Failed runs of this destination in the workflow DLQ. Absent if unknown: the listing is stale or disabled. */
  readonly failedRuns?: number;
  /** Time of the oldest failure, and time when the first of these runs expires, if the retention is configured. */
  readonly oldestFailedAt?: number;
  readonly firstExpiresAt?: number;
  /** Reaction of each policy that selects failed runs of this destination; all that resume runs if that is unknown. */
  readonly reactions: readonly OutageReaction[];
}

export interface OutageFacts {
  readonly at: number;
  readonly account: string;
  readonly outages: readonly Outage[];
  /** Failed runs in the workflow DLQ, by destination; absent if the listing is stale or disabled. */
  readonly runs?: ReadonlyMap<string, readonly WorkflowDlqEntry[]>;
  readonly dlqRetentionMs?: number;
  readonly policies: readonly PolicyStatus[];
  /** Pending plans. */
  readonly plans: readonly { readonly id: string; readonly policy: string }[];
  /** Active approvals. */
  readonly approvals: readonly Omit<IncidentFacts['plans'][number], 'state' | 'held'>[];
  /** Names of the policies that select one of the failed runs of a destination, by these runs. */
  readonly selecting: ReadonlyMap<readonly WorkflowDlqEntry[], ReadonlySet<string>>;
}

export function outageViews(facts: OutageFacts): OutageView[] {
  const { account, outages, dlqRetentionMs } = facts;
  return outages.map(({ host, ...outage }) => {
    const runs = facts.runs && (facts.runs.get(host) ?? []);
    const selects = (name: string): boolean => runs === undefined || facts.selecting.get(runs)?.has(name) === true;
    const oldest = runs?.reduce((least, { createdAt }) => Math.min(least, createdAt), Infinity) ?? Infinity;
    return {
      account,
      destination: host,
      ...outage,
      ...(runs !== undefined && { failedRuns: runs.length }),
      ...(oldest < Infinity && { oldestFailedAt: oldest }),
      ...(oldest < Infinity && dlqRetentionMs !== undefined && { firstExpiresAt: oldest + dlqRetentionMs }),
      reactions: facts.policies
        .filter((policy) => policy.account === account && policy.action === 'workflow-dlq.resume')
        .filter(({ name }) => selects(name))
        .map((policy) => ({ policy: policy.name, ...reaction(policy, host, facts) })),
    };
  });
}

/** Host of the URL of a failed run: its destination. */
export function outageHost(url: string): string {
  return URL.parse(url)?.host ?? url;
}

const WAITS: Readonly<Record<string, string>> = {
  arrivals: 'waits until fewer runs fail',
  destination: 'waits until the destination delivers again',
  kill_switch: 'is paused',
};

/** Reaction of a policy to failed runs of a host, in a few words. Its own figures may be those of other hosts. */
function reaction(policy: PolicyStatus, host: string, facts: OutageFacts): Omit<OutageReaction, 'policy'> {
  const waits = waitsForOperator(policy, host, facts);
  return waits === undefined
    ? { text: ownReaction(policy, host, facts), isActing: true }
    : { text: waits, isActing: false };
}

function waitsForOperator(
  { name, mode, effectiveMode, reducedBy, campaigns }: PolicyStatus,
  host: string,
  { plans }: OutageFacts,
): string | undefined {
  if (mode === 'off') return 'is off';
  if (reducedBy?.startsWith('paused:') === true) return `is ${reducedBy}`;
  if (effectiveMode === 'audit' || effectiveMode === 'off') {
    return `resumes nothing: its mode is ${effectiveMode}${reducedBy === undefined ? '' : ` (${reducedBy})`}`;
  }
  if (campaigns.some(({ group, state }) => outageHost(group) === host && state === 'audit')) {
    return 'stopped resuming runs of this destination until an operator lifts the halt';
  }
  const plan = plans.find(({ policy }) => policy === name);
  return plan && `waits for the approval of plan ${plan.id}`;
}

function ownReaction(
  { name, held, campaigns, nextRunAt, schedule }: PolicyStatus,
  host: string,
  { at, approvals }: OutageFacts,
): string {
  const halted = campaigns.find(({ group, state }) => outageHost(group) === host && state === 'halted');
  if (halted !== undefined) {
    const until = halted.until === undefined || halted.until <= at ? 'soon' : formatAge(halted.until, at);
    return `halted its resumes here; it resumes one run ${until}`;
  }
  const next = nextRunAt === undefined ? schedule : `next run ${formatAge(nextRunAt, at)}`;
  const waits =
    held && `${WAITS[held.guard] ?? 'holds repairs'}${held.guard === 'destination' ? '' : ` (${held.reason})`}`;
  const approval = approvals.find(({ policy }) => policy === name);
  if (approval !== undefined) {
    const by = approval.by === undefined ? '' : ` by ${approval.by}`;
    return `${waits ?? `resumes runs (${next})`}; plan ${approval.id} is approved${by} until ${formatTime(approval.expiresAt)} (${coverText(approval)})`;
  }
  return waits ?? `resumes the runs that it selects (${next})`;
}

const WHAT: Readonly<Record<string, string>> = {
  timeout: 'times out',
  connection: 'cannot be reached',
  dns: 'has no address (DNS)',
  tls: 'fails the TLS handshake',
  no_response: 'does not respond',
};

/** Fault in a few words: `crm.vendor.example answers 503 to everything`. */
export function outageTitle({ destination, reasons, delivered, failed }: OutageView): string {
  const [first] = reasons;
  const all = delivered === 0 ? 'everything' : 'nearly everything';
  if (first === undefined || first.count < 0.8 * failed) return `${destination} fails ${all}`;
  const status = /^HTTP (\d+)$/.exec(first.reason)?.[1];
  if (status !== undefined) return `${destination} answers ${status} to ${all}`;
  const what = WHAT[first.reason];
  return what === undefined ? `${destination} fails ${all}` : `${destination} ${what}`;
}

/** `since 12:41 UTC (18 min)`. */
export function outageSince({ since, isSinceKnown }: OutageView, now: number): string {
  const clock = formatTime(since).slice(11, 16);
  return isSinceKnown
    ? `since ${clock} UTC (${formatSpan(now - since)})`
    : `for at least ${formatSpan(now - since)} (since ${clock} UTC or earlier)`;
}

/** Reaction of the daemon. */
export function reactionText({ reactions, failedRuns }: OutageView): string {
  if (reactions.length > 0) return reactions.map(({ policy, text }) => `${policy} ${text}`).join('; ');
  if (failedRuns === 0) return 'no failed run of it is in the DLQ';
  return 'no policy resumes its failed runs; they stay in the DLQ until they expire';
}
