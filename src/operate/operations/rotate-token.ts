/**
 * Rotation of an account's token. The old token ends at once, so the new one is on disk before anything else happens
 * with the response.
 */
import { isAbsolute } from 'node:path';
import { isRecord, jsonOf } from '#foundation/domain/json.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { operationNamed, type Operation } from '#service/operations.ts';
import { readValues, type OperationValues } from '#service/operation-values.ts';
import type { RawAnswer } from '#service/raw-calls.ts';
import { OperationError } from './operation-error.ts';
import type { AskedOperation, OperationAccount, OperationDeps } from './ports.ts';
import type { ReservedToken } from './token-file.ts';

export interface Rotation extends Disposable {
  readonly token: ReservedToken;
  /** File of the read-only token, if one is configured. */
  readonly readOnly: ReservedToken | undefined;
  /** True if the daemon itself uses the file. */
  readonly isConfigured: boolean;
}

/** Reserves the files of a rotation. @throws {OperationError} if the new token could not be stored */
export function prepareRotation(
  values: OperationValues,
  { account, isLocal }: { readonly account: OperationAccount } & Pick<AskedOperation, 'isLocal'>,
  { tokenFiles }: Pick<OperationDeps, 'tokenFiles'>,
): Rotation {
  const named = values['tokenFile'] as string | undefined;
  if (named !== undefined && !isLocal)
    throw new OperationError('refused', 'tokenFile names a file of the daemon’s machine: use the unix socket there');
  if (named !== undefined && !isAbsolute(named))
    throw new OperationError('bad_request', 'tokenFile must be an absolute path');
  const { hasActionToken, actionTokenFile } = account;
  const file = named ?? (hasActionToken ? actionTokenFile : account.tokenFile);
  if (file === undefined) {
    const setting = hasActionToken ? 'actionTokenFile' : 'tokenFile';
    throw new OperationError(
      'refused',
      `the token of account ${account.name} is not in a file, so the new one could not be stored. Set messageApi.${setting}, or name a file: tokenFile=FILE`,
    );
  }
  if (named === undefined && values['id'] !== account.accountId)
    throw new OperationError('refused', 'this id is of another account: name a file for its token: tokenFile=FILE');
  using reserved = new DisposableStack();
  const token = reserved.use(tokenFiles.reserve(file));
  const readOnlyFile = named === undefined && hasActionToken ? account.tokenFile : undefined;
  const readOnly = readOnlyFile === undefined ? undefined : reserved.use(tokenFiles.reserve(readOnlyFile));
  const owned = reserved.move();
  return { token, readOnly, isConfigured: named === undefined, [Symbol.dispose]: () => owned.dispose() };
}

/** Sends the rotation and stores the tokens. @returns the response and what happened to the tokens */
export async function rotate(
  operation: Operation,
  values: OperationValues,
  { account, rotation }: { readonly account: OperationAccount; readonly rotation: Rotation },
  signal: AbortSignal,
): Promise<{ readonly answer: RawAnswer; readonly notes: readonly string[] }> {
  const notes: string[] = [];
  let isStored = false;
  const onBody = (body: string): void => void (isStored = store(body, rotation, notes));
  const answer = await account.raw.send(operation, values, { signal, onBody });
  if (isStored) await forgetOld(account, rotation, { signal, notes });
  return { answer, notes };
}

/** @returns true if the new token is in its file */
function store(body: string, { token, readOnly }: Rotation, notes: string[]): boolean {
  const found = tokensOf(body);
  try {
    token.write(found.token ?? body);
    if (found.token === undefined) {
      notes.push(
        `The response has no readable token. It is kept in ${token.unsaved}; the token in ${token.file} may be invalid.`,
      );
      return false;
    }
    const isKept = token.replace();
    notes.push(`The new token is in ${token.file}.`);
    if (!isKept) notes.push(`The old token could not be kept in ${token.file}.previous.`);
  } catch (error) {
    notes.push(
      `The new token could not be stored in ${token.file}: ${errorMessage(error)}. Look for it in ${token.unsaved} and ${token.file}; else run \`opsd api rotate-token\` again.`,
    );
    return false;
  }
  if (found.readOnly !== undefined) storeReadOnly(found.readOnly, readOnly, notes);
  return true;
}

function storeReadOnly(text: string, file: ReservedToken | undefined, notes: string[]): void {
  if (file === undefined) {
    notes.push('The new read-only token is stored nowhere: no file for it is configured. The console has it.');
    return;
  }
  try {
    file.write(text);
    file.replace();
    notes.push(`The new read-only token is in ${file.file}.`);
  } catch (error) {
    notes.push(`The new read-only token could not be stored in ${file.file}: ${errorMessage(error)}.`);
  }
}

const IN_HEADER = /^[\x21-\x7e]+$/;

function tokensOf(body: string): { readonly token?: string; readonly readOnly?: string } {
  const answer = jsonOf(body);
  const { token, read_only_token: readOnly } = isRecord(answer) ? answer : {};
  return {
    ...(typeof token === 'string' && IN_HEADER.test(token) && { token }),
    ...(typeof readOnly === 'string' && IN_HEADER.test(readOnly) && { readOnly }),
  };
}

/** Removes the old tokens after a read with the new ones has succeeded. */
async function forgetOld(
  { raw }: OperationAccount,
  { token, readOnly, isConfigured }: Rotation,
  { signal, notes }: { readonly signal: AbortSignal; readonly notes: string[] },
): Promise<void> {
  if (!isConfigured) {
    notes.push('The daemon still uses its configured token. Configure this file and reload the configuration.');
    return;
  }
  const read = operationNamed('list-url-groups')!;
  const tries = [
    { file: token, attempt: () => raw.tryWriter({ signal }) },
    ...(readOnly === undefined
      ? []
      : [{ file: readOnly, attempt: async () => void (await raw.send(read, readValues(read, {}), { signal })) }]),
  ];
  for (const { file, attempt } of tries) {
    try {
      await attempt();
      file.forget();
    } catch (error) {
      notes.push(
        `A read with the token in ${file.file} failed: ${errorMessage(error)}. The old token is in ${file.file}.previous.`,
      );
    }
  }
}

/** Next step after a lost response. */
export function lostRotation({ token }: Rotation): string {
  return `The token in ${token.file} may be invalid. Check it with \`opsd api list-url-groups\`. If the service rejects it, run \`opsd api rotate-token\` again, which needs only the user and password of the management API; or write the token from the service’s console to ${token.file}`;
}
