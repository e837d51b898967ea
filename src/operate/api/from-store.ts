import { errorMessage } from '#foundation/platform/error-message.ts';
import { HttpError } from '../http/reply.ts';

/** Reads the store. @throws {HttpError} 503 if that fails */
export async function fromStore<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw storeUnavailable(errorMessage(error));
  }
}

export function storeUnavailable(why: string): HttpError {
  return new HttpError(503, 'store_unavailable', `The store cannot be read: ${why}`);
}
