/** The running daemon, over the unix socket beside its store. */
import { request } from 'node:http';
import type { Plan } from '../domain/plan.ts';
import type { AuditHead } from '../ledger/audit-log.ts';
import { CommandError } from './command.ts';
import { printable } from './output.ts';

const MAX_ANSWER_BYTES = 64 * 1_048_576;

/** Where the daemon of a store listens. */
export function socketPathOf(storePath: string): string {
  return `${storePath}.sock`;
}

export interface DaemonCall {
  readonly socketPath: string;
  readonly signal: AbortSignal;
}

/**
 * What the policy would do now. The daemon reads the service for it, which may take minutes.
 *
 * @throws {CommandError} when no daemon answers, or it refuses
 */
export async function requestPlan(policy: string, call: DaemonCall): Promise<Plan> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/plan', body: JSON.stringify({ policy }) });
  if (!isPlan(answer)) throw new CommandError(`what listens on ${call.socketPath} did not answer with a plan`);
  return answer;
}

/** Names of the daemon's policies, in the order of its configuration. */
export async function requestPolicies(call: DaemonCall): Promise<readonly string[]> {
  const answer = await exchange(call, { method: 'GET', path: '/api/v1/policies' });
  const policies = isRecord(answer) && Array.isArray(answer['policies']) ? (answer['policies'] as unknown[]) : [];
  return policies.flatMap((policy) => (isRecord(policy) && typeof policy['name'] === 'string' ? [policy['name']] : []));
}

/** Lifts the pauses that the daemon put on itself. @returns how many there were */
export async function requestUnpause(reason: string, call: DaemonCall): Promise<number> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/unpause', body: JSON.stringify({ reason }) });
  return isRecord(answer) ? Number(answer['lifted']) : 0;
}

/** Where the daemon's audit log ends; undefined while nothing was written. */
export async function requestAuditHead(call: DaemonCall): Promise<AuditHead | undefined> {
  const answer = await exchange(call, { method: 'GET', path: '/api/v1/audit/head' });
  const head = isRecord(answer) ? answer['head'] : undefined;
  if (!isRecord(head)) return undefined;
  return { sequence: Number(head['sequence']), hash: String(head['hash']) };
}

/** A copy of the store, made by the daemon. @returns its size in bytes */
export async function requestBackup(file: string, call: DaemonCall): Promise<number> {
  const answer = await exchange(call, { method: 'POST', path: '/api/v1/state/backup', body: JSON.stringify({ file }) });
  return isRecord(answer) ? Number(answer['bytes']) : 0;
}

/** @returns why the store was not trusted until now; undefined when it was */
export async function requestAdopt(reason: string, call: DaemonCall): Promise<string | undefined> {
  const answer = await exchange(call, {
    method: 'POST',
    path: '/api/v1/state/adopt',
    body: JSON.stringify({ reason }),
  });
  const adopted = isRecord(answer) ? answer['adopted'] : undefined;
  return typeof adopted === 'string' ? adopted : undefined;
}

interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

async function exchange(call: DaemonCall, { method, path, body }: Exchange): Promise<unknown> {
  const { status, text } = await send(call, { method, path, ...(body !== undefined && { body }) });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CommandError(`what listens on ${call.socketPath} is not opsd: it did not answer with JSON`);
  }
  if (status === 200) return value;
  const error = isRecord(value) ? value['error'] : undefined;
  const said = isRecord(error) && typeof error['message'] === 'string' ? printable(error['message']) : `HTTP ${status}`;
  throw new CommandError(`the daemon refused: ${said}`);
}

function send(call: DaemonCall, { method, path, body }: Exchange): Promise<{ status: number; text: string }> {
  const { socketPath, signal } = call;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      reject(signal.aborted ? (signal.reason as Error) : explain(error, socketPath));
    };
    const sent = request({ socketPath, method, path, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error('its answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.on('error', fail);
    sent.setHeader('Content-Type', 'application/json');
    sent.end(body);
  });
}

function explain(error: NodeJS.ErrnoException, socketPath: string): CommandError {
  switch (error.code ?? '') {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new CommandError(
        `no daemon listens on ${socketPath}. Start it with opsd run, or name its configuration with --config or its socket with --socket.`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
      return new CommandError(`this user may not use ${socketPath}: run the command as the user of the daemon.`, {
        cause: error,
      });
    default:
      return new CommandError(`the daemon on ${socketPath} did not answer: ${error.message}`, { cause: error });
  }
}

const PLAN_STATES: readonly unknown[] = ['nothing', 'changes', 'held', 'aborted'] satisfies Plan['state'][];

/** Enough to tell a plan from anything else; the daemon is of this program, perhaps of another version. */
function isPlan(value: unknown): value is Plan {
  return isRecord(value) && PLAN_STATES.includes(value['state']) && Array.isArray(value['chosen']);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
