/** State of the daemon in one sentence, most severe problem first. Pure. */
import type { Pause } from '#automate/ledger/pauses.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { CanaryState } from '#foundation/domain/canary.ts';
import type { Incident } from '#foundation/domain/incident.ts';
import { isFailingCanary } from './canaries.ts';
import { counted, formatAge, formatCount, formatSpan, formatTime } from './format.ts';
import {
  canaryAnchor,
  incidentPath,
  planPath,
  policyPath,
  reconciliationAnchor,
  rowPath,
  sourceAnchor,
} from '../contract/page-paths.ts';
import { outageSince, outageTitle, reactionText, type OutageView } from '../situation/outages.ts';
import {
  problemText,
  VERDICT_LEVELS,
  type Problem,
  type Verdict,
  type VerdictLevel,
  type ReconciliationView,
  type SourceView,
} from '../contract/status.ts';
import type { Status } from './stored-status.ts';
import type { PolicyView } from '../contract/policies.ts';
import type { Repair } from '../contract/incidents.ts';

/** Facts of the verdict that are not part of the status. */
export interface VerdictFacts {
  /** States of all canaries. */
  readonly canaries: readonly CanaryState[];
  /** Unresolved incidents. */
  readonly incidents: readonly Pick<Incident, 'id' | 'account' | 'kind' | 'place'>[];
  /** Repairs by incident. One without a repair is not known. */
  readonly repairs: ReadonlyMap<string, Repair>;
}

export function judge(status: Omit<Status, 'verdict'>, { canaries, incidents, repairs }: VerdictFacts): Verdict {
  // A decision that waits, harm that nobody repairs, harm that somebody repairs, and what is unknown.
  const others = [
    ...status.outages.toSorted(byRepair).map((outage) => outageProblem(outage, status, incidents)),
    ...daemonProblems(status),
    ...leaseProblems(status),
    ...status.pauses.flatMap(pauseOfAll),
    ...status.sources.flatMap((source) => sourceProblem(source, status.at)),
    ...canaries.filter(isFailingCanary).map((canary) => canaryProblem(canary, status.at)),
    ...status.reconciliation.flatMap(gap),
    ...besidesPauses(status)
      .filter((condition) => !isReaction(condition, status) && !isOfStore(condition, status))
      .filter(({ key }) => !status.plans.some(({ policy }) => key === `approval/${policy}`))
      .map((condition) => conditionProblem(condition, repairs)),
    ...status.policies.filter((policy) => isOwned(policy, status)).flatMap((policy) => policyProblems(policy, status)),
    ...unknownOutcomes(status),
    ...status.sources.flatMap((source) => unknownOutages(source, status)),
  ].sort((a, b) => byLevel(a.level, b.level));
  const problems = [...status.plans.map(decision), ...others];
  const [worst, ...more] = problems;
  if (worst !== undefined && (worst.level !== 'info' || status.ready)) {
    const level = problems.map((problem) => problem.level).toSorted(byLevel)[0]!;
    const rest = more.length === 0 ? '.' : `; and ${more.length} more.`;
    return { level, sentence: withoutFullStop(problemText(worst)) + rest, problems };
  }
  if (!status.ready) {
    return { level: 'starting', sentence: `Starting: ${withoutFullStop(status.readyDetail)}.`, problems };
  }
  return { level: 'ok', sentence: allWell(status), problems };
}

function byLevel(a: VerdictLevel, b: VerdictLevel): number {
  return VERDICT_LEVELS.indexOf(a) - VERDICT_LEVELS.indexOf(b);
}

function decision({ id, policy, covers }: Status['plans'][number]): Problem {
  const text = `Plan ${id} of ${policy} waits for an approval of ${counted(covers, 'action')}`;
  return { level: 'attention', text, path: planPath(id) };
}

/** Outages that no policy repairs come first. */
function byRepair(a: OutageView, b: OutageView): number {
  const repaired = ({ reactions }: OutageView) => (reactions.some(({ isActing }) => isActing) ? 1 : 0);
  return repaired(a) - repaired(b);
}

function outageProblem(
  outage: OutageView,
  { at, accounts }: Omit<Status, 'verdict'>,
  incidents: VerdictFacts['incidents'],
): Problem {
  const { account, destination, failed, lost, failedRuns } = outage;
  const of = accounts.length > 1 ? ` (${account})` : '';
  const runs = failedRuns === undefined ? 'number of failed runs unknown' : counted(failedRuns, 'failed run');
  const size = `${counted(failed, 'failed attempt')}, ${counted(lost, 'failed message')}, ${runs}`;
  const incident = incidents.find((one) => one.account === account && one.place === destination);
  return {
    level: 'trouble',
    text: `${outageTitle(outage)}${of} ${outageSince(outage, at)}`,
    detail: `${size}; ${reactionText(outage)}`,
    path: incident === undefined ? `/incidents?account=${encodeURIComponent(account)}` : incidentPath(incident.id),
  };
}

/** Problem of a log that is not counted far enough: the verdict must not say that all is well. */
function unknownOutages(source: SourceView, { outagesUnknown }: Omit<Status, 'verdict'>): Problem[] {
  const { account, collector, state, countedUntilAt } = source;
  if (collector !== 'logs' || state !== 'ok' || !outagesUnknown.includes(account)) return [];
  const until = countedUntilAt === undefined ? '' : `: its log is counted until ${formatTime(countedUntilAt)}`;
  const text = `The state of the destinations of ${account} is unknown${until}`;
  return [{ level: 'attention', text, path: rowPath('/sources', sourceAnchor(source)) }];
}

function daemonProblems(status: Omit<Status, 'verdict'>): Problem[] {
  const problems: Problem[] = [];
  if (!status.healthy)
    problems.push({ level: 'trouble', text: 'The daemon is not healthy', detail: status.healthDetail });
  if (status.storeError !== undefined) {
    const text = 'The store is unavailable, so policies do not act and counters do not advance';
    problems.push({ level: 'trouble', text, detail: status.storeError });
  }
  return problems;
}

/** Table of the accounts. */
const ACCOUNTS_PATH = rowPath('/sources', 'accounts');
/** Maximum number of accounts that a problem names. */
const MOST_NAMED = 5;

/** Problems of accounts without an owner: only the owner reads an account and acts on it. */
function leaseProblems({ accounts, leaseError, storeError }: Omit<Status, 'verdict'>): Problem[] {
  if (storeError !== undefined) return [];
  if (leaseError !== undefined) {
    const text = `This replica cannot read the leases, so it does not act: ${leaseError}`;
    return [{ level: 'trouble', text, path: ACCOUNTS_PATH }];
  }
  const without = accounts.filter(({ lease }) => lease !== undefined && lease.replica === undefined);
  const unowned = without.filter(({ lease }) => lease?.isUnknown !== true).map(({ name }) => name);
  const unknown = without
    .filter(({ lease }) => lease?.isUnknown === true)
    .map(({ name, lease }) => (lease?.next === undefined ? name : `${name}, which ${lease.next} takes`));
  const problems: Problem[] = [];
  if (unowned.length > 0) {
    const text = `No replica owns ${counted(unowned.length, 'account')} (${listed(unowned, ', ')}): nothing is read of them, and no policy acts on them`;
    problems.push({ level: 'trouble', text, path: ACCOUNTS_PATH });
  }
  if (unknown.length > 0) {
    const text = `This replica gave up ${counted(unknown.length, 'account')} (${listed(unknown, '; ')}), and learns the new owner with its next heartbeat`;
    problems.push({ level: 'attention', text, path: ACCOUNTS_PATH });
  }
  return problems;
}

function listed(names: readonly string[], separator: string): string {
  const more = names.length > MOST_NAMED ? ` and ${formatCount(names.length - MOST_NAMED)} more` : '';
  return `${names.slice(0, MOST_NAMED).join(separator)}${more}`;
}

/** Returns false for a policy of an account without an owner, whose problem says that no policy acts. */
function isOwned(policy: PolicyView, { accounts }: Omit<Status, 'verdict'>): boolean {
  const lease = accounts.find(({ name }) => name === policy.account)?.lease;
  return lease === undefined || lease.replica !== undefined;
}

function sourceProblem(source: SourceView, now: number): Problem[] {
  const name = `${source.account} ${source.collector}`;
  const why = source.lastRunFailed && source.lastFailure !== undefined ? ` (${source.lastFailure.reason})` : '';
  const since =
    source.lastSuccessAt === undefined ? 'no success so far' : `last success ${formatAge(source.lastSuccessAt, now)}`;
  const path = rowPath('/sources', sourceAnchor(source));
  if (source.state === 'stale') {
    return [{ level: 'trouble', text: `${name} is stale${why}`, detail: `${since}, its gauges are withheld`, path }];
  }
  // A source that has just begun to fail still has valid old data; one that never succeeded has none.
  if (source.state === 'failing') {
    const level = source.lastSuccessAt === undefined ? 'trouble' : 'attention';
    return [{ level, text: `${name} is failing${why}`, detail: since, path }];
  }
  return [];
}

/** Problem of a canary whose last message failed. One message is no outage; an alert fires when failures last. */
function canaryProblem(state: CanaryState, now: number): Problem {
  const { account, canary, verdict, reason, since } = state;
  const text = `The canary ${canary} of ${account} has failed for ${formatSpan(now - since)} (${verdict})`;
  return { level: 'attention', text, detail: reason, path: rowPath('/canaries', canaryAnchor(state)) };
}

/** Problem of counts that disagree: either may be wrong, and so may everything counted from it. */
function gap({ account, state, hour, logs, statistics, isLasting }: ReconciliationView): Problem[] {
  if (!isLasting) return [];
  const clock = new Date(hour).toISOString().slice(11, 16);
  const text = `${account}: the log and the statistics disagree on ${state} in the hour from ${clock} UTC (${formatCount(logs)} and ${formatCount(statistics)}) and in the previous hour`;
  return [{ level: 'attention', text, path: rowPath('/sources', reconciliationAnchor({ account, state })) }];
}

/** Active conditions except those about pauses, which are shown as pauses. */
export function besidesPauses({ conditions, pauses }: Pick<Status, 'conditions' | 'pauses'>): readonly Condition[] {
  return conditions.filter(({ key }) => !pauses.some(({ scope }) => key === `paused/${scope}`));
}

/** Returns true for a policy's reaction to an outage, which the outage shows. */
function isReaction({ key, group = '' }: Condition, { outages }: Pick<Status, 'outages'>): boolean {
  return outages.some(
    ({ destination, reactions }) =>
      reactions.some(({ policy }) => key === `held/${policy}`) ||
      (key.startsWith('halted/') && URL.parse(group)?.host === destination),
  );
}

/** Returns true for the condition of a store that cannot be read, which is a problem of its own. */
function isOfStore({ key }: Condition, { storeError }: Pick<Status, 'storeError'>): boolean {
  return key === 'store' && storeError !== undefined;
}

/** List of the active conditions on the first page. */
export const CONDITIONS_ANCHOR = 'conditions';
const CONDITIONS_PATH = `/#${CONDITIONS_ANCHOR}`;

/** Id of the incident that a condition reports; undefined for other conditions, and for one that reports several. */
function incidentOf({ key }: Pick<Condition, 'key'>): string | undefined {
  return /^incident\/([^/]+)$/.exec(key)?.[1];
}

/** Returns true for the condition that reports incidents, which the page shows in a table of their own. */
export function isOfIncident({ key }: Pick<Condition, 'key'>): boolean {
  return key.startsWith('incident/');
}

function conditionProblem(condition: Condition, repairs: VerdictFacts['repairs']): Problem {
  const { severity, summary, detail, guard, policy } = condition;
  const level = severity === 'critical' ? 'trouble' : guard === 'kill_switch' ? 'info' : 'attention';
  if (isOfIncident(condition)) {
    const id = incidentOf(condition);
    const path = id === undefined ? '/incidents' : incidentPath(id);
    const repair = id === undefined ? undefined : repairs.get(id);
    // A failure that a policy repairs needs no attention. One that a guard holds repairs nothing.
    if (repair?.by !== 'policy') return { level, text: summary, path };
    if (repair.why !== undefined)
      return { level, text: summary, detail: `${repair.policy ?? 'its repair'} is ${repair.why}`, path };
    return { level: 'info', text: summary, detail: `${repair.policy ?? 'the daemon'} repairs it`, path };
  }
  const path = policy === undefined ? CONDITIONS_PATH : policyPath(policy);
  return { level, text: withoutFullStop(summary), detail, path };
}

function pauseOfAll({ scope, reason, by }: Pause): Problem[] {
  if (scope !== 'engine') return [];
  const text = `All policies are paused by ${by === 'engine' ? 'the daemon itself' : by}`;
  return [{ level: by === 'engine' ? 'trouble' : 'info', text, detail: reason, path: CONDITIONS_PATH }];
}

/** Level of a reduced mode. A pause is an operator's decision, unless the daemon set it itself. */
function reducedLevel({ name, reducedBy }: PolicyView, pauses: Status['pauses']): Problem['level'] {
  if (reducedBy?.startsWith('paused:') !== true) return 'attention';
  const pause = pauses.find(({ scope }) => scope === 'engine' || scope === `policy/${name}`);
  const isOwn = pause === undefined ? reducedBy.includes('opsd unpause') : pause.by === 'engine';
  return isOwn ? 'trouble' : 'info';
}

function policyProblems(policy: PolicyView, { pauses }: Omit<Status, 'verdict'>): Problem[] {
  const problems: Problem[] = [];
  const path = policyPath(policy.name);
  const outcome = policy.lastRun?.outcome;
  const detail = policy.lastRun?.detail;
  if (outcome === 'failed' || outcome === 'aborted' || outcome === 'halted') {
    // A pause or a stop of the daemon ended the run.
    const level = /^(?:kill_switch|interrupted)\b/.test(detail ?? '') ? 'info' : 'trouble';
    problems.push({
      level,
      text: `The last run of ${policy.name} ended as ${outcome.replaceAll('_', ' ')}`,
      detail,
      path,
    });
  } else if (outcome === 'incomplete') {
    problems.push({
      level: 'attention',
      text: `The last run of ${policy.name} was incomplete`,
      detail,
      path,
    });
  }
  const isOneOfAll = policy.reducedBy?.startsWith('paused:') === true && pauses.some(({ scope }) => scope === 'engine');
  if (policy.effectiveMode !== policy.mode && !isOneOfAll) {
    const text = `${policy.name} is configured as ${policy.mode} and runs as ${policy.effectiveMode}`;
    problems.push({ level: reducedLevel(policy, pauses), text, detail: policy.reducedBy, path });
  }
  return problems;
}

function unknownOutcomes(status: Omit<Status, 'verdict'>): Problem[] {
  const count = status.unknownOutcomes;
  if (count === 0 || status.conditions.some(({ key }) => key.startsWith('unknown/'))) return [];
  const text =
    count === 1
      ? 'The outcome of one action is unknown; no request is sent for its entry until a read resolves it'
      : `The outcomes of ${formatCount(count)} actions are unknown; no requests are sent for their entries until reads resolve them`;
  return [{ level: 'attention', text, path: '/#actions' }];
}

function allWell(status: Omit<Status, 'verdict'>): string {
  const running = status.sources.filter((source) => source.state !== 'off');
  const read = running.filter((source) => source.state === 'ok').length;
  const sources = running.length === 0 ? 'no sources' : `${read} of ${running.length} sources read`;
  const policies =
    status.policies.length === 0
      ? 'no policies'
      : `${counted(status.policies.length, 'policy', 'policies')} as configured`;
  const { reconciliation } = status;
  const agree =
    reconciliation.length > 0 && reconciliation.every(({ agrees }) => agrees) ? ', log and statistics agree' : '';
  return `All is well: ${sources}, ${policies}${agree}.`;
}

function withoutFullStop(text: string): string {
  return text.replace(/(?<![.\s])[.\s]+$/, '');
}
