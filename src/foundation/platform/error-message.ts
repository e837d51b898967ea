import { redact } from '../domain/redact.ts';

/** Returns the message of any thrown value, an Error or not, without credentials. */
export function errorMessage(thrown: unknown): string {
  return redact(thrown instanceof Error ? thrown.message : String(thrown));
}
