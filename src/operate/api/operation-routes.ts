/** Route of the service's operations, by the interface's names. docs/api.md documents it. */
import { isRecord } from '#foundation/domain/json.ts';
import { nearest } from '#foundation/domain/suggest.ts';
import { OPERATIONS, operationNamed, type Operation } from '#service/operations.ts';
import { callOperation } from '../contract/control.ts';
import { allow, type Role } from '../http/access.ts';
import { readParsed } from '../http/body.ts';
import { HttpError, type Reply } from '../http/reply.ts';
import { leastRole, type Performed } from '../operations/perform.ts';
import type { AskedOperation } from '../operations/ports.ts';
import { OperationError } from '../operations/operation-error.ts';
import type { ApiContext, ApiRoute } from './api-deps.ts';
import { implementWhole } from './implement.ts';

export const OPERATION_ROUTES: readonly ApiRoute[] = [implementWhole(callOperation, operation)];

/** Header with facts for the operator that are not in the response, each URI-encoded. */
const NOTE_HEADER = 'Opsd-Note';

/** Valid value of `Content-Type`. */
const MIME_TYPE = /^[\w.+/-]{1,100}(?:; ?[\w.+/="-]{1,100})*$/;

/** Maximum size of a request: messages are published with it. */
const MAX_BODY_BYTES = 8 * 1_048_576;

const STATUS = {
  bad_request: 400,
  unconfirmed: 409,
  budget: 429,
  refused: 409,
  store_unavailable: 503,
  service_error: 502,
} as const satisfies Readonly<Record<OperationError['code'], number>>;

/** Responds with the service's response, with secrets masked. */
async function operation(context: ApiContext): Promise<Reply> {
  const found = named(context.id);
  const command = `opsd api ${found.name}`;
  allow(context, leastRole(found), command);
  context.mayTakeLong();
  const { account, confirm, ...given } = await readKeys(context);
  const asked = {
    given,
    ...(account !== undefined && { account: textOf('account', account) }),
    ...(confirm !== undefined && { confirm: textOf('confirm', confirm) }),
  };
  const { answer, notes } = await sendOperation(context, found, asked, command);
  return {
    status: answer.status,
    contentType: MIME_TYPE.test(answer.contentType ?? '') ? answer.contentType! : 'application/octet-stream',
    body: { parts: [answer.body], gzip: () => Promise.resolve([answer.body]) },
    ...(notes.length > 0 && { headers: { [NOTE_HEADER]: notes.map((note) => encodeURIComponent(note)) } }),
  };
}

/** Sends an operation for the caller of a request. @throws {HttpError} */
export async function sendOperation(
  context: Omit<ApiContext, 'query'>,
  operation: Operation,
  asked: Omit<AskedOperation, 'isLocal' | 'signal' | 'allow'>,
  command: string,
): Promise<Performed> {
  const { access, signal } = context;
  try {
    const allowed = (role: Role) => allow(context, role, command);
    return await context.deps.operate(operation, { ...asked, isLocal: access.isLocal, signal, allow: allowed });
  } catch (error) {
    throw error instanceof OperationError ? new HttpError(STATUS[error.code], error.code, error.message) : error;
  }
}

function named(name: string): Operation {
  const found = operationNamed(name);
  if (found !== undefined) return found;
  const names = OPERATIONS.map((one) => one.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  const message = `The service has no operation ${name.slice(0, 80)}.${hint} Operations: ${names.join(', ')}.`;
  throw new HttpError(404, 'not_found', message);
}

async function readKeys({ request }: ApiContext): Promise<Readonly<Record<string, unknown>>> {
  const message = 'The body must be a JSON object with the keys of the operation.';
  const value = await readParsed(request, MAX_BODY_BYTES, message, {});
  if (isRecord(value)) return value;
  throw new HttpError(400, 'bad_request', message);
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new HttpError(400, 'bad_request', `${name} must be text.`);
}
