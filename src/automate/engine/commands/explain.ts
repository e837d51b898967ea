/**
 * Explains an id: the object it names, the verdict of each policy on it now, and earlier actions on it. Reads the
 * service and sends nothing that acts.
 */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import { denialBy, type Denial, type Plan } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { missedFilter } from '../../guardrails/read-guards.ts';
import type { Explained, Explanation, Refusal, Subject } from '../../ledger/commands.ts';
import type { ActionRecord } from '../../ledger/intents.ts';
import type { Policy, WorkflowDlqPolicy } from '../../policies/policy.ts';
import { authorityDenial } from '../act/sending.ts';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/plan-draft.ts';
import { grantOf, rejectionOf } from '../run/grants.ts';
import { groupOf } from '../decide/group-facts.ts';
import { refused } from './commands.ts';
import { hearClock } from '../guard/checks.ts';
import { contextOf, type RunDeps } from '../run/run-policy.ts';

/** Denial of an entry that a later run or step reaches. */
const LATER = denialBy('ramp', {
  measured: 'a later step',
  needed: 'earlier steps come first',
  remedy: 'wait: later runs do the rest',
});

/** Keys of `select` for filters of the listing that have another name. */
const SELECT_KEYS: Readonly<Record<string, string>> = {
  label: 'anyLabel',
  fromDate: 'failedWithin',
  toDate: 'failedBefore',
};

export async function explainId(id: string, deps: RunDeps, signal: AbortSignal): Promise<Explained | Refusal> {
  const found = await lookUp(id, deps, signal);
  if (found !== undefined && 'code' in found) return found;
  const actions = await actionsOn(id, found?.subject, deps);
  const account = found?.subject.account ?? actions[0]?.proposal.account;
  if (account === undefined) {
    const accounts = deps.actions.accounts.join(', ');
    const where = 'it is in no workflow DLQ, message log, failure callback or action';
    return refused('unknown_id', `The id ${id.slice(0, 200)} is unknown: ${where} (accounts: ${accounts}).`);
  }
  const policies: Explanation[] = [];
  for (const policy of deps.policies) {
    if (policy.account !== account || !isAbout(policy, found)) continue;
    const of = { policy: policy.name, source: policy.source };
    policies.push({ ...of, ...(await verdictOf(policy, found, deps, signal)) });
  }
  return { ok: true, id, subject: found?.subject, policies, actions };
}

/** Returns true if the policy acts on such an object. A prune lists nothing, and a budget has no entries. */
function isAbout(policy: Policy, found: Found | undefined): boolean {
  if (found?.deadLetter !== undefined) return 'missed' in policy;
  return policy.action.type === 'workflow-dlq.resume' || policy.action.type === 'workflow-dlq.delete';
}

type Verdict = Pick<Explanation, 'verdict' | 'denial'>;

async function verdictOf(
  policy: Policy,
  found: Found | undefined,
  deps: RunDeps,
  signal: AbortSignal,
): Promise<Verdict> {
  const watched = found?.entry?.dlqId ?? found?.deadLetter?.dlqId;
  if (watched === undefined) return { verdict: 'not_listed' };
  const at = deps.clock.now();
  const missed = found?.entry && selectMisses(policy as WorkflowDlqPolicy, found.entry, at);
  if (missed !== undefined) return { verdict: 'left_out', denial: missed };
  await hearClock(policy.account, deps, signal);
  const context = await contextOf(policy, { at, trigger: { kind: 'hand' }, signal }, deps);
  const { stopped } = context;
  const decision = await decide(policy, { ...context, watched }, deps);
  signal.throwIfAborted();
  const { plan, targets, tally } = decision;
  if (plan.state === 'aborted') {
    // A run that is stopped before it reads does not abort.
    return { verdict: 'stopped', denial: stopped ?? plan.stopped };
  }
  if (!targets.includes(watched)) {
    const denial = tally.watchedDenial;
    return denial === undefined ? { verdict: 'not_listed' } : { verdict: 'left_out', denial };
  }
  const authority = await mayNotAct(policy, watched, decision, deps);
  const first = stopped ?? (authority?.guard === 'mode' ? authority : undefined);
  if (first !== undefined) return { verdict: 'stopped', denial: first };
  const isChosen = plan.chosen.some(({ target }) => target === watched);
  // A plan that a guard holds is not presented for approval.
  const held = isChosen ? plan.stopped : holdOf(policy, plan, found?.entry);
  if (held !== undefined) return { verdict: isChosen ? 'stopped' : 'later', denial: held };
  if (authority !== undefined) return { verdict: 'stopped', denial: authority };
  return isChosen ? { verdict: 'chosen' } : { verdict: 'later', denial: LATER };
}

/** Returns the filter of `select` that an entry does not meet. */
function selectMisses(policy: WorkflowDlqPolicy, entry: WorkflowDlqEntry, now: number): Denial | undefined {
  const filter = policy.filter(now);
  const { fromDate = -Infinity, toDate = Infinity } = filter;
  const missed =
    missedFilter(entry, filter) ??
    (entry.createdAt < fromDate ? 'fromDate' : entry.createdAt > toDate ? 'toDate' : undefined);
  if (missed === undefined) return undefined;
  const wanted = missed === 'fromDate' || missed === 'toDate' ? undefined : filter[missed as 'label'];
  const why = wanted ? `none of ${wanted.join(', ')}` : `it failed at ${new Date(entry.createdAt).toISOString()}`;
  return { guard: 'select', reason: `${SELECT_KEYS[missed] ?? missed}: ${why}` };
}

/** Returns the reason why a run would send nothing for the entry: the mode, probation, or a missing approval. */
async function mayNotAct(
  policy: Policy,
  watched: string,
  { plan }: Decision,
  deps: RunDeps,
): Promise<Denial | undefined> {
  const now = deps.clock.now();
  const grant = grantOf(policy, await deps.ledger.storedPlans(['approved'], now), now);
  const isApproved = grant?.only.has(watched) === true;
  const probationLeft = await deps.authority.probationLeft(policy);
  const denial = authorityDenial(policy, { plan, isApproved, probationLeft }, deps);
  if (denial?.guard !== 'approval') return denial;
  return (await rejectionOf(plan, { ledger: deps.ledger, now })) ?? denial;
}

/** Returns the hold of an allowed entry that is not in this run: that of its group, or of the plan. */
function holdOf(policy: Policy, plan: Plan, entry: WorkflowDlqEntry | undefined): Denial | undefined {
  const group = entry && groupOf(policy as WorkflowDlqPolicy, entry);
  const held = plan.campaigns.find((campaign) => campaign.group === group)?.held;
  return held ?? plan.stopped;
}

/** Object that an id names. It has an entry, a dead letter, or neither. */
interface Found {
  readonly subject: Subject;
  readonly entry?: WorkflowDlqEntry;
  readonly deadLetter?: DeadLetter;
}

/** Finds an id in memory first, then by reading the service; undefined if it is unknown. */
async function lookUp(id: string, deps: RunDeps, signal: AbortSignal): Promise<Found | Refusal | undefined> {
  const { accounts } = deps.actions;
  for (const account of accounts) {
    const known =
      named(id, account, deps.board.latest(account, 'workflowDlq')?.rows ?? []) ??
      (await deadLetterOf(id, account, deps));
    if (known !== undefined) return known;
  }
  const unread: string[] = [];
  for (const account of accounts) {
    const listing = await deps.actions.list(account, {}, signal);
    signal.throwIfAborted();
    if (listing.problem !== undefined) unread.push(`the workflow DLQ of ${account}: ${listing.problem}`);
    const listed = named(id, account, listing.entries);
    if (listed !== undefined) return listed;
    const logged = await deps.actions.readLog(account, { messageId: id }, signal);
    signal.throwIfAborted();
    if (typeof logged === 'string') unread.push(`the message log of ${account}: ${logged}`);
    if (typeof logged === 'string' || logged.length === 0) continue;
    const workflowRunId = logged.find((entry) => entry.workflowRunId !== undefined)?.workflowRunId;
    const run = workflowRunId === undefined ? undefined : named(workflowRunId, account, listing.entries);
    if (run !== undefined) return { ...run, subject: { ...run.subject, messageId: id } };
    return { subject: { account, in: 'log', messageId: id, workflowRunId } };
  }
  if (unread.length === 0) return undefined;
  return refused('unread', `The id ${id.slice(0, 200)} was not found, but some reads failed: ${unread.join('; ')}.`);
}

/** Newest entry of a run, or the entry with the id. */
function named(id: string, account: string, entries: readonly WorkflowDlqEntry[]): Found | undefined {
  const found = entries.filter(({ dlqId, workflowRunId }) => dlqId === id || workflowRunId === id);
  const [entry] = found.toSorted((a, b) => b.createdAt - a.createdAt);
  if (entry === undefined) return undefined;
  const { dlqId, workflowRunId } = entry;
  return { subject: { account, in: 'workflow-dlq', dlqId, workflowRunId }, entry };
}

async function deadLetterOf(id: string, account: string, { ledger }: RunDeps): Promise<Found | undefined> {
  const deadLetters = await ledger.deadLetters(account);
  const deadLetter = deadLetters.find(({ dlqId, messageId }) => dlqId === id || messageId === id);
  if (deadLetter === undefined) return undefined;
  const { dlqId, messageId } = deadLetter;
  return { subject: { account, in: 'message-dlq', dlqId, messageId }, deadLetter };
}

/** Returns the actions on an object under all its ids, newest first. */
async function actionsOn(
  id: string,
  subject: Subject | undefined,
  { ledger }: RunDeps,
): Promise<readonly ActionRecord[]> {
  const { account, dlqId, workflowRunId, messageId } = subject ?? {};
  const ids = [id, dlqId, workflowRunId, messageId].filter((one) => one !== undefined);
  return ledger.actionsOn(account, ids);
}
