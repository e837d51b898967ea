/** Account in the query of a request. */
import { HttpError } from '../http/reply.ts';
import type { ApiDeps } from './api-deps.ts';

/** @throws {HttpError} 404 for an unknown account: an empty list would look like an account without data */
export function knownAccount({ accounts }: Pick<ApiDeps, 'accounts'>, name: string | undefined): string | undefined {
  const names = accounts.map((account) => account.name);
  if (name === undefined || names.includes(name)) return name;
  const known = names.length === 0 ? 'none' : names.join(', ');
  throw new HttpError(404, 'not_found', `There is no account ${name.slice(0, 80)}. Accounts: ${known}`);
}
