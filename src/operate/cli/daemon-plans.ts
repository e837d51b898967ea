/** Requests of commands for manual plans. */
import type { Plan } from '#foundation/domain/plan.ts';
import type { Selection } from '#foundation/domain/selection.ts';
import { CommandError } from './command.ts';
import { planOf } from './daemon-client.ts';
import { exchange, exchangeText, isRecord, rejected, type DaemonCall } from './daemon-exchange.ts';

/**
 * Requests a manual plan of the first selection whose queue has the ids.
 *
 * @throws {CommandError} if no daemon responds or it rejects the request; the other functions do the same
 */
export async function requestManualPlan(
  [selection, ...others]: readonly Selection[],
  options: { readonly reason: string; readonly overrule?: { readonly settings: Readonly<Record<string, string>> } },
  call: DaemonCall,
): Promise<Plan> {
  const asked = { method: 'POST', path: '/api/v1/plan', body: { selection, ...options } } as const;
  const answer = await exchangeText(call, asked);
  if (answer.status === 200) return planOf(JSON.parse(answer.text) as unknown, call);
  const { code, error } = rejected(call, answer);
  if (others.length > 0 && ['other_queue', 'unknown_id'].includes(code)) {
    return requestManualPlan(others, options, call);
  }
  throw error;
}

/** Returns the selection of an incident's failed runs. */
export async function requestIncidentRuns(id: string, call: DaemonCall): Promise<Selection> {
  const { incident } = await exchange(call, { method: 'GET', path: `/api/v1/incidents/${encodeURIComponent(id)}` });
  const selection = isRecord(incident) ? incident['selection'] : undefined;
  if (isRecord(selection)) return selection as unknown as Selection;
  throw new CommandError(`incident ${id} has no failed run that could be resumed`);
}

/** Progress in the format of `/api/v1/plans/{id}`. */
export interface ManualProgress {
  readonly state: string;
  readonly sent: number;
  readonly verified: number;
  readonly failedAgain: number;
  readonly unknown: number;
  readonly left?: number;
  readonly deleted?: number;
  readonly held?: { readonly guard: string; readonly reason: string };
  readonly finished: boolean;
}

export async function requestProgress(id: string, call: DaemonCall): Promise<ManualProgress> {
  const { plan } = await exchange(call, { method: 'GET', path: `/api/v1/plans/${encodeURIComponent(id)}` });
  const progress = isRecord(plan) ? plan['progress'] : undefined;
  if (isRecord(progress)) return progress as unknown as ManualProgress;
  throw new CommandError(`the daemon has no progress of plan ${id}; it may be another version of opsd`);
}

/** @returns the plan's new state, in the format of `/api/v1/plans` */
export async function requestCancel(
  cancelled: { readonly plan: string; readonly reason: string },
  call: DaemonCall,
): Promise<Readonly<Record<string, unknown>>> {
  const { plan } = await exchange(call, { method: 'POST', path: '/api/v1/cancel', body: cancelled });
  return isRecord(plan) ? plan : {};
}
