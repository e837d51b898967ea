/**
 * One operation that an operator sends by name: permission, confirmation, record in the audit log, request, outcome. A
 * write is sent once, and only after its record is durable.
 */
import type { Begun, BegunOperation, OperationOutcome } from '#automate/ledger/operations.ts';
import type { ActionType } from '#foundation/domain/plan.ts';
import { isOutdated } from '#foundation/domain/known-budget.ts';
import { isRecord, jsonOf } from '#foundation/domain/json.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { isOperatorShareUsed } from '#service/daily-budget.ts';
import { operationNamed, type Operation } from '#service/operations.ts';
import { readValues, type OperationValues } from '#service/operation-values.ts';
import type { RawAnswer } from '#service/raw-calls.ts';
import { selectedIds } from '#service/request.ts';
import { InvalidRequestError, ServiceError } from '#service/service-error.ts';
import { valueText } from '#service/value-kinds.ts';
import type { Role } from '../http/access.ts';
import { OperationError } from './operation-error.ts';
import type { AskedOperation, OperationAccount, OperationDeps } from './ports.ts';
import { lostRotation, prepareRotation, rotate } from './rotate-token.ts';

export interface Performed {
  readonly answer: RawAnswer;
  /** Facts for the operator that are not in the response. */
  readonly notes: readonly string[];
}

/** Returns the role that every call of an operation needs. Its values may need a higher one. */
export function leastRole({ method, confirm, showsMessages }: Operation): Role {
  if (method === 'GET') return showsMessages === true ? 'operator' : 'viewer';
  return confirm === undefined || confirm === 'lower-budget' ? 'operator' : 'admin';
}

/** @throws {OperationError} */
export async function performOperation(
  operation: Operation,
  asked: AskedOperation,
  deps: OperationDeps,
): Promise<Performed> {
  asked.allow(leastRole(operation));
  const account = accountNamed(asked.account, deps.accounts);
  const values = checkedValues(operation, { account, given: asked.given });
  if (operation.method === 'GET') {
    checkBudget(operation, account);
    return { answer: await sent(() => account.raw.send(operation, values, asked)), notes: [] };
  }
  const by = await permitted(operation, values, { account, asked, deps });
  using rotation = operation.name === 'rotate-token' ? prepareRotation(values, { ...asked, account }, deps) : undefined;
  const id = await begin(await begunOf(operation, values, { account, by, deps, retrigger: asked.retrigger }), deps);
  // A disconnected caller must not make the outcome unknown. The client's timeout bounds the request.
  const { signal } = new AbortController();
  let outcome: OperationOutcome = 'accepted';
  let detail: string | undefined;
  try {
    if (rotation !== undefined) return await sent(() => rotate(operation, values, { account, rotation }, signal));
    return { answer: await sent(() => account.raw.send(operation, values, { signal })), notes: [] };
  } catch (error) {
    outcome = effectOf(error) === 'none' ? 'rejected' : 'unknown';
    detail = errorMessage(error);
    if (outcome === 'rejected') throw error;
    const next = rotation === undefined ? lostRetrigger(asked) : `. ${lostRotation(rotation)}`;
    throw new OperationError('service_error', `${detail}. The outcome is unknown${next}`);
  } finally {
    await end({ id, account: account.name }, { outcome, ...(detail !== undefined && { detail }) }, deps);
  }
}

function lostRetrigger({ retrigger }: AskedOperation): string {
  if (retrigger === undefined) return '';
  return `. \`opsd dlq show ${retrigger.dlqId}\` shows what became of run ${retrigger.workflowRunId}`;
}

function checkBudget({ name, api }: Operation, account: OperationAccount): void {
  const use = account.usage(api);
  if (!isOperatorShareUsed(use)) return;
  const { usedToday, allowedPerDay } = use;
  const used = `${usedToday} of ${allowedPerDay} requests of this UTC day are used`;
  const message = `${name}: ${used}, and the rest is for collectors and policies. Raise client.requestsPerDay, or wait`;
  throw new OperationError('budget', message);
}

/** Returns the account of an operation. One of several must be named. */
export function accountNamed<A extends { readonly name: string }>(name: string | undefined, accounts: readonly A[]): A {
  const found = name === undefined && accounts.length === 1 ? accounts[0] : accounts.find((one) => one.name === name);
  if (found !== undefined) return found;
  const what = name === undefined ? 'account is required' : `there is no account ${name.slice(0, 100)}`;
  throw new OperationError('bad_request', `${what}. Accounts: ${accounts.map((one) => one.name).join(', ')}`);
}

function checkedValues(
  operation: Operation,
  { account, given }: { readonly account: OperationAccount; readonly given: AskedOperation['given'] },
): OperationValues {
  const own = Object.entries(operation.keys).find(([, key]) => key.default === 'accountId')?.[0];
  const isMissing = own !== undefined && given[own] === undefined;
  if (isMissing && account.accountId === undefined)
    throw new OperationError('bad_request', `${own} is required: account ${account.name} has no managementApi`);
  try {
    const values = readValues(operation, isMissing ? { ...given, [own]: account.accountId } : given);
    account.raw.check(operation, values);
    return values;
  } catch (error) {
    throw asOperationError(error);
  }
}

interface Permitting {
  readonly account: OperationAccount;
  readonly asked: AskedOperation;
  readonly deps: OperationDeps;
}

/** Checks the role, the pauses and the confirmation of a write. @returns the caller */
async function permitted(operation: Operation, values: OperationValues, context: Permitting): Promise<string> {
  const { asked, deps } = context;
  const { ledger } = deps;
  const unusable = await ledger.leaseLost(context.account.name);
  if (unusable !== undefined) throw new OperationError('store_unavailable', `${unusable}; nothing was sent`);
  const isByFilter = operation.bulk !== undefined && selectedIds(values) === undefined;
  const isConfirmed = await needsConfirmation(operation, values, context);
  const { by } = asked.allow(isByFilter || isConfirmed ? 'admin' : leastRole(operation));
  if (operation.bulk !== undefined || asked.retrigger !== undefined) {
    const held = (await deps.paused()) ?? ledger.mustBeAdopted;
    if (held !== undefined) throw new OperationError('refused', `the engine is paused: ${held}; nothing was sent`);
  }
  const reduced = asked.retrigger === undefined ? undefined : deps.reducedMode(context.account.name);
  if (reduced !== undefined) throw new OperationError('refused', `${reduced}; nothing was sent`);
  if (isByFilter && (await isActing(context))) {
    const message = `a policy acts on account ${context.account.name} at this time; nothing was sent. Try again, or name ids`;
    throw new OperationError('refused', message);
  }
  if (isConfirmed) await confirmed(operation, values, context);
  return by;
}

/** Returns true if a policy has a request in flight on the account. */
async function isActing({ account, deps }: Permitting): Promise<boolean> {
  const open = await deps.ledger.openActions();
  return open.some(({ outcome, proposal }) => outcome === undefined && proposal.account === account.name);
}

async function needsConfirmation(
  { confirm }: Operation,
  values: OperationValues,
  { account, deps }: Pick<Permitting, 'account' | 'deps'>,
): Promise<boolean> {
  if (confirm !== 'lower-budget') return confirm !== undefined;
  const known = values['id'] === account.accountId ? await deps.budget(account.name) : undefined;
  // Someone may have raised the budget elsewhere since an old assertion.
  return known === undefined || isOutdated(known, deps.clock.now()) || dollarsOf(values) < known.knownUsd;
}

async function confirmed(
  operation: Operation,
  values: OperationValues,
  { account, asked: { confirm, signal } }: Permitting,
): Promise<void> {
  const id = valueText(values['id'] ?? values['msgsvc_id']);
  let [what, name] = ['account', id === account.accountId ? account.name : id];
  if (operation.confirm === 'index') {
    const read = operationNamed('get-index')!;
    const { body } = await sent(() => account.raw.send(read, readValues(read, { id }), { signal }));
    [what, name] = ['index', nameIn(body) ?? id];
  }
  if (confirm === name) return;
  const why =
    operation.confirm === 'lower-budget' ? ' (the budget is lowered, or its current value is unknown or too old)' : '';
  const message = `${operation.name} must be confirmed with the name of the ${what}, ${name}${why}; nothing was sent`;
  throw new OperationError('unconfirmed', message);
}

function nameIn(body: Buffer): string | undefined {
  const answer = jsonOf(body.toString('utf8'));
  const { name } = isRecord(answer) ? answer : {};
  return typeof name === 'string' && name !== '' ? name : undefined;
}

const ACTIONS: Readonly<Record<string, ActionType>> = {
  'resume-workflow-dlq': 'workflow-dlq.resume',
  'delete-workflow-dlq': 'workflow-dlq.delete',
  'delete-dlq': 'message-dlq.delete',
};

async function begunOf(
  { name, api, bulk }: Operation,
  values: OperationValues,
  {
    account,
    by,
    deps,
    retrigger,
  }: Pick<Permitting, 'account' | 'deps'> & Pick<AskedOperation, 'retrigger'> & { readonly by: string },
): Promise<BegunOperation> {
  const dlqIds = selectedIds(values);
  const object = values['id'] ?? values['msgsvc_id'];
  const fromUsd = (await deps.budget(account.name))?.knownUsd;
  const isOwnBudget = name === 'update-budget' && values['id'] === account.accountId;
  return {
    operation: name,
    account: account.name,
    keys: Object.keys(values),
    by,
    at: deps.clock.now(),
    ...(api === 'management' && object !== undefined && { object: valueText(object) }),
    ...(bulk !== undefined && { isBulk: true, isByFilter: dlqIds === undefined }),
    ...(dlqIds !== undefined && { claims: { action: ACTIONS[name]!, dlqIds } }),
    ...(retrigger !== undefined && {
      isBulk: true,
      retrigger,
      claims: { action: 'retrigger', dlqIds: [retrigger.dlqId] },
    }),
    ...(isOwnBudget && {
      budget: { toUsd: dollarsOf(values), ...(fromUsd !== undefined && { fromUsd }) },
    }),
  };
}

/** Returns the new budget in US dollars; Infinity if unlimited. */
function dollarsOf(values: OperationValues): number {
  return values['budget'] === 0 ? Infinity : Number(values['budget']);
}

async function begin(begun: BegunOperation, { ledger }: OperationDeps): Promise<number> {
  let result: Begun;
  try {
    result = await ledger.beginOperation(begun);
  } catch (error) {
    const why = `it cannot be recorded: ${errorMessage(error)}; nothing was sent`;
    throw new OperationError('store_unavailable', `${begun.operation}: ${why}`);
  }
  if (result.ok) return result.id;
  throw new OperationError('refused', `${begun.operation}: ${result.reason}; nothing was sent`);
}

async function end(
  { id, account }: { readonly id: number; readonly account: string },
  outcome: { readonly outcome: OperationOutcome; readonly detail?: string },
  deps: OperationDeps,
): Promise<void> {
  try {
    await deps.ledger.endOperation(id, account, { at: deps.clock.now(), ...outcome });
  } catch (error) {
    // The next start, or the next owner of the account, records the outcome as unknown.
    deps.onUnrecorded(errorMessage(error));
  }
}

async function sent<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw asOperationError(error);
  }
}

function asOperationError(error: unknown): unknown {
  if (error instanceof InvalidRequestError) return withCause('bad_request', error);
  if (error instanceof ServiceError) return withCause(error.code === 'budget' ? 'budget' : 'service_error', error);
  return error;
}

function withCause(code: OperationError['code'], cause: Error): OperationError {
  const error = new OperationError(code, cause.message);
  error.cause = cause;
  return error;
}

function effectOf(error: unknown): 'none' | 'possible' {
  const { cause } = error as Error;
  return cause instanceof ServiceError || cause instanceof InvalidRequestError ? cause.effect : 'possible';
}
