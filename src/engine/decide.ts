/**
 * From a policy to its plan: read, test, choose. Nothing here acts or writes; a run and a dry run are the same up to
 * this point.
 */
import { createHash } from 'node:crypto';
import type { Actions } from '../actions/index.ts';
import { parseStamp } from '../domain/lineage.ts';
import { leastMode, type Denial, type Plan, type PolicyMode, type Proposal } from '../domain/plan.ts';
import { failureCause } from '../domain/reason.ts';
import type { AuthorityFacts, Candidate, EntryRules, Guard, ReadFacts } from '../guardrails/guard.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Clock } from '../platform/clock.ts';
import { evaluate } from '../policies/evaluate.ts';
import type { Policy } from '../policies/policy.ts';
import type { EngineSettings } from '../policies/settings.ts';
import { capUse } from './cap-limits.ts';
import { candidates } from './candidates.ts';
import type { Rejections } from './rejections.ts';

export interface DecideDeps {
  readonly actions: Actions;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly settings: EngineSettings;
  readonly guards: readonly Guard[];
  readonly rejections: Rejections;
}

/** The guards of one stage, in their order. */
export function guardsAt<S extends Guard['stage']>(
  guards: readonly Guard[],
  stage: S,
): readonly Extract<Guard, { stage: S }>[] {
  return guards.filter((guard): guard is Extract<Guard, { stage: S }> => guard.stage === stage);
}

/** The first of these guards that objects. */
export function firstDenial<F>(
  guards: readonly { readonly name: string; check(facts: F): string | undefined }[],
  facts: F,
): Denial | undefined {
  for (const guard of guards) {
    const reason = guard.check(facts);
    if (reason !== undefined) return { guard: guard.name, reason };
  }
  return undefined;
}

/** A plan in which nothing was read, because something already said no. */
export function unreadPlan(policy: Policy, authority: AuthorityFacts, at: number, stopped: Denial): Plan {
  const read = { pages: 0, entries: 0, complete: false, echoChecked: 0 };
  return { ...base(policy, authority, at), state: 'held', stopped, read };
}

export async function decide(
  policy: Policy,
  authority: AuthorityFacts,
  deps: DecideDeps,
  signal: AbortSignal,
): Promise<Plan> {
  const { account } = policy;
  const at = deps.clock.now();
  const filter = policy.filter(at);
  const listing = await deps.actions.list(account, filter, signal);
  const now = deps.clock.now();
  const facts: ReadFacts = { ...listing, filter, now };
  const plan = {
    ...base(policy, authority, at),
    read: {
      pages: listing.pages,
      entries: listing.entries.length,
      complete: listing.complete,
      echoChecked: listing.complete ? listing.entries.length : 0,
      ...(listing.clockSkewMs !== undefined && { clockSkewMs: listing.clockSkewMs }),
    },
  };
  const unreadable = firstDenial(guardsAt(deps.guards, 'read'), facts);
  if (unreadable !== undefined) return { ...plan, state: 'aborted', stopped: unreadable };

  const known = new Map(candidates(account, listing.entries, deps).map((one) => [one.entry.dlqId, one]));
  const entries = [...known.values()].map((candidate) => candidate.entry);
  const attemptsOf = (entry: { readonly dlqId: string }): number => known.get(entry.dlqId)!.attempts;
  const { matched, left, errors } = evaluate(policy, entries, { filter, attemptsOf }, now);
  const tally = new Tally();
  for (const { guard, reason } of left) tally.add(guard, reason);
  const misjudged = firstDenial(guardsAt(deps.guards, 'evaluated'), { entries: entries.length, errors });
  if (misjudged !== undefined) {
    return { ...plan, state: 'aborted', stopped: misjudged, skipped: tally.rows(), evaluationErrors: errors };
  }

  const rules = entryRules(policy, deps.settings, now);
  const allowed: Proposal[] = [];
  for (const entry of matched) {
    const candidate = known.get(entry.dlqId)!;
    const denied = guardsAt(deps.guards, 'entry').some((guard) => {
      const objection = guard.check(candidate, rules);
      if (objection !== undefined) tally.add(guard.name, objection.reason, objection.until);
      return objection !== undefined;
    });
    if (!denied) allowed.push(propose(policy, candidate));
  }

  const caps = capUse(policy, deps.settings, deps.ledger, now);
  const limits = { matched: allowed.length, maxPerRun: policy.settings.limits.maxPerRun, caps };
  let chosen = allowed;
  let stopped = firstDenial(guardsAt(deps.guards, 'run'), authority);
  for (const guard of guardsAt(deps.guards, 'plan')) {
    const { allowed: count, reason } = guard.check(limits);
    if (count === 0 && allowed.length > 0) stopped ??= { guard: guard.name, reason: reason ?? 'no room' };
    chosen = chosen.slice(0, count);
  }
  return {
    ...plan,
    id: planId(policy, chosen),
    state: stopped !== undefined ? 'held' : chosen.length > 0 ? 'changes' : 'nothing',
    ...(stopped !== undefined && { stopped }),
    chosen,
    backlog: allowed.length - chosen.length,
    skipped: tally.rows(),
    evaluationErrors: errors,
    caps,
  };
}

/** The mode that holds while paused or not. */
export function modeInEffect(authority: AuthorityFacts): PolicyMode {
  return authority.paused === undefined ? authority.mode : leastMode(authority.mode, 'off');
}

function base(policy: Policy, authority: AuthorityFacts, at: number): Omit<Plan, 'state' | 'read' | 'stopped'> {
  return {
    id: planId(policy, []),
    policy: policy.name,
    account: policy.account,
    source: policy.source,
    at,
    mode: policy.settings.mode,
    effectiveMode: modeInEffect(authority),
    chosen: [],
    backlog: 0,
    skipped: [],
    evaluationErrors: 0,
    caps: [],
  };
}

function entryRules(policy: Policy, settings: EngineSettings, now: number): EntryRules {
  const { attempts } = policy.settings.limits;
  return {
    now,
    protectedLabels: settings.protectedLabels,
    failureFunctionStates: policy.settings.select.failureFunctionState ?? [],
    maxAttempts: attempts.max,
    backoff: attempts.backoff,
  };
}

function propose(policy: Policy, { entry, lineage, attempts }: Candidate): Proposal {
  return {
    policy: policy.name,
    account: policy.account,
    action: policy.settings.action.type,
    dlqId: entry.dlqId,
    workflowRunId: entry.workflowRunId,
    workflowUrl: entry.workflowUrl,
    lineage,
    attempt: attempts + 1,
    failedAt: entry.createdAt,
    labels: entry.labels.filter((label) => parseStamp(label) === undefined),
    cause: failureCause(entry.responseStatus, entry.responseText),
    ...(entry.flowControlKey !== undefined && { flowControlKey: entry.flowControlKey }),
    ...(entry.responseStatus !== undefined && { status: entry.responseStatus }),
  };
}

/** What is done is bound to what was shown: the same ids in the same order. */
function planId(policy: Policy, chosen: readonly Proposal[]): string {
  const hash = createHash('sha256').update(`${policy.name}\0${policy.account}`);
  for (const { dlqId } of chosen) hash.update(`\0${dlqId}`);
  return hash.digest('hex').slice(0, 12);
}

/** What strangers write can stand in a reason (a stamp's instance): beyond this many, reasons are counted together. */
const MAX_REASONS = 200;

/** Entries left out, counted by guard and reason. */
class Tally {
  readonly #rows = new Map<string, { guard: string; reason: string; count: number; until: number }>();

  add(guard: string, reason: string, until = Infinity): void {
    const full = this.#rows.size >= MAX_REASONS && !this.#rows.has(`${guard}\0${reason}`);
    const shown = full ? 'other' : reason;
    const key = `${guard}\0${shown}`;
    const row = this.#rows.get(key) ?? { guard, reason: shown, count: 0, until: Infinity };
    this.#rows.set(key, { ...row, count: row.count + 1, until: Math.min(row.until, until) });
  }

  rows(): Plan['skipped'] {
    return [...this.#rows.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ guard, reason, count, until }) => ({
        guard,
        reason: until === Infinity ? reason : `${reason}, next ${new Date(until).toISOString().slice(0, 16)}Z`,
        count,
      }));
  }
}
