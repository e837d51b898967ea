import { errorMessage } from '#foundation/platform/error-message.ts';
import { HttpError } from '../http/reply.ts';
import type { ApiContext, LedgerReader } from './api-deps.ts';

/** Reads the store. @throws {HttpError} 503 if that fails */
export async function fromStore<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof HttpError ? error : storeUnavailable(errorMessage(error));
  }
}

/** Reads the ledger at one moment, until the deadline of the request. @throws {HttpError} 503 if that fails */
export function fromLedger<T>(
  { deps, signal }: Pick<ApiContext, 'deps' | 'signal'>,
  read: (ledger: LedgerReader) => Promise<T>,
): Promise<T> {
  return fromStore(() => deps.ledger.view(read, signal));
}

export function storeUnavailable(why: string): HttpError {
  return new HttpError(503, 'store_unavailable', `The store cannot be read: ${why}`);
}
