/** Parses the account record of a token rotation (interface 2.7), the only response whose secrets are kept. */
import { Secret } from '#foundation/platform/secret.ts';
import type { RotatedAccount } from '../api.ts';
import {
  compact,
  LONGEST_TEXT,
  objectOf,
  optionalCount,
  parseJson,
  requireText,
  type Drops,
  type JsonObject,
} from './reader.ts';

const SECRET_FIELD = /token|secret|password|credential|api_?key/i;

/**
 * Parses the record. The old token is already invalid, so a record with only a readable new token is better than none.
 */
export function parseRotatedAccount(body: Buffer, drops: Drops, accountId: string): RotatedAccount {
  const row = objectOf(parseJson(body), 'answer');
  const readOnlyToken = drops.field(() => requireText(row, 'read_only_token', LONGEST_TEXT));
  return compact<RotatedAccount>({
    id: drops.field(() => requireText(row, 'id')) ?? accountId,
    token: Secret.of(requireText(row, 'token', LONGEST_TEXT)),
    readOnlyToken: readOnlyToken === undefined ? undefined : Secret.of(readOnlyToken),
    budget: drops.field(() => optionalCount(row, 'budget')),
    record: withoutSecrets(row) as JsonObject,
  });
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !SECRET_FIELD.test(key));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutSecrets(inner)]));
}
