import { errorMessage } from '#foundation/platform/error-message.ts';
import { HttpError } from '../http/reply.ts';

/** Reads the store. @throws {HttpError} 503 if that fails */
export function fromStore<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw storeUnavailable(errorMessage(error));
  }
}

export function storeUnavailable(why: string): HttpError {
  return new HttpError(503, 'store_unavailable', `The store cannot be read: ${why}`);
}
