/** Requests of commands to the running daemon. */
import type { Plan } from '#foundation/domain/plan.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import type { Explanation, RunSummary, Subject } from '#automate/ledger/commands.ts';
import { CommandError } from './command.ts';
import { exchange, isRecord, placeOf, type DaemonCall } from './daemon-exchange.ts';

export interface PlanOptions {
  /** True stores the plan, so that it can be applied. */
  readonly keep: boolean;
  readonly overrule?: { readonly settings: Readonly<Record<string, string>>; readonly reason: string };
}

/**
 * Requests a plan. The daemon reads the service for it, which may take minutes.
 *
 * @throws {CommandError} if no daemon responds or it rejects the request; the other functions do the same
 */
export async function requestPlan(policy: string, options: PlanOptions, call: DaemonCall): Promise<Plan> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/plan', body: { policy, ...options } });
  return planOf(answer, call);
}

/** Names of the daemon's policies, in the order of its configuration. */
export async function requestPolicies(call: DaemonCall): Promise<readonly string[]> {
  const { policies } = await exchange(call, { method: 'GET', path: '/api/v1/policies' });
  const rows = Array.isArray(policies) ? (policies as unknown[]) : [];
  return rows.flatMap((policy) => (isRecord(policy) && typeof policy['name'] === 'string' ? [policy['name']] : []));
}

/** Stored plan. */
export interface KeptPlan {
  readonly id: string;
  readonly state: string;
  readonly replacedBy?: string;
  readonly expiresAt: number;
  /** Number of actions that an approval covers. */
  readonly covers: number;
  readonly plan: Plan;
}

export async function requestStoredPlan(id: string, call: DaemonCall): Promise<KeptPlan> {
  const answer = await exchange(call, { method: 'GET', path: `/api/v1/plans/${encodeURIComponent(id)}` });
  const kept = isRecord(answer['plan']) ? answer['plan'] : {};
  return {
    id: String(kept['id']),
    state: String(kept['state']),
    ...(typeof kept['replacedBy'] === 'string' && { replacedBy: kept['replacedBy'] }),
    expiresAt: Number(kept['expiresAt']),
    covers: Number(kept['covers']),
    plan: planOf(kept['plan'], call),
  };
}

export interface Applied {
  readonly plan: Plan;
  readonly result: RunSummary;
}

export async function requestApply(id: string, reason: string | undefined, call: DaemonCall): Promise<Applied> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/apply', body: { plan: id, reason } });
  const { result } = answer;
  if (!isRecord(result) || typeof result['outcome'] !== 'string') throw notOpsd(call, 'with the result of the run');
  return { plan: planOf(answer['plan'], call), result: result as unknown as RunSummary };
}

/** @returns the plan's new state, in the format of `/api/v1/plans` */
export async function requestDecision(
  command: 'approve' | 'reject',
  decision: { readonly plan: string; readonly reason?: string },
  call: DaemonCall,
): Promise<Readonly<Record<string, unknown>>> {
  const { plan } = await exchange(call, { method: 'POST', path: `/api/v1/${command}`, body: decision });
  return isRecord(plan) ? plan : {};
}

/** Action in the format of `/api/v1/actions`. */
interface ActionRow {
  readonly id: number;
  readonly at: number;
  readonly policy: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly detail?: string;
  readonly newRunId?: string;
}

export interface ExplainedEntry {
  readonly id: string;
  readonly subject?: Subject;
  readonly policies: readonly Explanation[];
  readonly actions: readonly ActionRow[];
}

export async function requestExplain(id: string, call: DaemonCall): Promise<ExplainedEntry> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/explain', body: { id } });
  if (!Array.isArray(answer['policies']) || !Array.isArray(answer['actions']))
    throw notOpsd(call, 'with an explanation');
  return answer as unknown as ExplainedEntry;
}

/** @returns the paused scope: `engine`, or `policy/NAME` */
export async function requestPause(
  pause: { readonly reason: string; readonly policy?: string },
  call: DaemonCall,
): Promise<string> {
  const { paused } = await exchange(call, { method: 'POST', path: '/api/v1/pause', body: pause });
  if (typeof paused !== 'string') throw notOpsd(call, 'that it has paused');
  return paused;
}

/** Result of lifting pauses and halts. */
export interface Lifted {
  readonly lifted: number;
  /** Reason why the policy or the engine is still paused, and how to end it. */
  readonly stillPaused?: string;
}

export async function requestUnpause(
  lifted: { readonly reason: string; readonly policy?: string; readonly group?: string },
  call: DaemonCall,
): Promise<Lifted> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/unpause', body: lifted });
  const { stillPaused } = answer;
  return { lifted: Number(answer['lifted']), ...(typeof stillPaused === 'string' && { stillPaused }) };
}

export interface ActivePause {
  readonly scope: string;
  readonly reason: string;
  readonly at: number;
  readonly by: string;
}

/** Active pauses. */
export async function requestPauses(call: DaemonCall): Promise<readonly ActivePause[]> {
  const { pauses } = await exchange(call, { method: 'GET', path: '/api/v1/conditions' });
  return Array.isArray(pauses) ? (pauses as ActivePause[]) : [];
}

/** Last record of the daemon's audit log; undefined while the log is empty. */
export async function requestAuditHead(call: DaemonCall): Promise<AuditHead | undefined> {
  const { head } = await exchange(call, { method: 'GET', path: '/api/v1/audit/head' });
  if (!isRecord(head)) return undefined;
  return { sequence: Number(head['sequence']), hash: String(head['hash']) };
}

/** @returns the path of the configuration of the daemon */
export async function requestConfigFile(call: DaemonCall): Promise<string> {
  const { files } = await exchange(call, { method: 'GET', path: '/api/v1/configuration' });
  const [file] = Array.isArray(files) ? (files as unknown[]) : [];
  if (typeof file !== 'string') throw notOpsd(call, 'with its configuration');
  return file;
}

/** Makes the daemon copy its store. @returns the size in bytes */
export async function requestBackup(file: string, call: DaemonCall): Promise<number> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/state/backup', body: { file } });
  return Number(answer['bytes']);
}

/** @returns the reason why the store was not trusted; undefined if it was */
export async function requestAdopt(reason: string, call: DaemonCall): Promise<string | undefined> {
  const { adopted } = await exchange(call, { method: 'POST', path: '/api/v1/state/adopt', body: { reason } });
  return typeof adopted === 'string' ? adopted : undefined;
}

export interface ResetCounter {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** @returns the counters that were reset, with their former values */
export async function requestResetCounter(
  body: { readonly account: string; readonly metric: string; readonly labels: object; readonly reason: string },
  call: DaemonCall,
): Promise<readonly ResetCounter[]> {
  const { reset } = await exchange(call, { method: 'POST', path: '/api/v1/state/reset-counter', body });
  return Array.isArray(reset) ? (reset as ResetCounter[]) : [];
}

export interface Reloaded {
  readonly changed: boolean;
  /** True if only web configuration files changed. */
  readonly webConfig: boolean;
  /** Hash of the valid configuration. */
  readonly hash: string;
}

export async function requestReload(call: DaemonCall): Promise<Reloaded> {
  const { changed, webConfig, hash } = await exchange(call, { method: 'POST', path: '/-/reload' });
  if (typeof changed !== 'boolean' || typeof hash !== 'string')
    throw notOpsd(call, 'that it has loaded its configuration');
  return { changed, webConfig: webConfig === true, hash };
}

/** Hash of the running configuration, and the error of the last reload, if it failed. */
export async function requestRunning(call: DaemonCall): Promise<{ readonly hash: string; readonly failure?: string }> {
  const [status, { conditions }] = [
    await exchange(call, { method: 'GET', path: '/api/v1/status' }),
    await exchange(call, { method: 'GET', path: '/api/v1/conditions' }),
  ];
  const failed = (Array.isArray(conditions) ? (conditions as unknown[]) : [])
    .filter(isRecord)
    .find(({ key }) => key === 'reload');
  return { hash: String(status['configHash']), ...(failed !== undefined && { failure: String(failed['detail']) }) };
}

const PLAN_STATES: readonly unknown[] = ['nothing_to_do', 'changes', 'held', 'aborted'] satisfies Plan['state'][];
const PLAN_LISTS = ['chosen', 'checks', 'skipped', 'campaigns', 'caps', 'notes'] satisfies (keyof Plan)[];

/** Checks enough to recognize a plan; the daemon may be another version of this program. */
export function planOf(value: unknown, call: DaemonCall): Plan {
  const isPlan =
    isRecord(value) && PLAN_STATES.includes(value['state']) && PLAN_LISTS.every((list) => Array.isArray(value[list]));
  if (!isPlan) throw notOpsd(call, 'with a plan');
  return value as unknown as Plan;
}

function notOpsd(call: DaemonCall, what: string): CommandError {
  return new CommandError(`the program on ${placeOf(call)} did not respond ${what}; check that it is opsd`);
}
