import { redact } from '../domain/redact.ts';

/** Returns the message of whatever was thrown, without credentials. Nothing promises that it is an Error. */
export function errorMessage(thrown: unknown): string {
  return redact(thrown instanceof Error ? thrown.message : String(thrown));
}
