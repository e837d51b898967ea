/** Masks secrets in a response body. All other bytes stay as they are. */
import { jsonOf } from '#foundation/domain/json.ts';
import { knownSpans, MASK, replaced } from '#foundation/domain/credential-spans.ts';

const SECRET_FIELD = /token|secret|password|credential|api_?key/i;
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const COLON = /\s*:/y;

/** Returns a copy of a JSON body, without the texts of fields with secret names. */
export function maskedJson(body: Buffer): Buffer {
  const text = body.toString('utf8');
  const value = jsonOf(text);
  if (value === undefined) return text.trim() === '' ? Buffer.from(body) : Buffer.from(MASK);
  // Such a value has no text of its own that could be replaced.
  const masked = hasNestedSecret(value) ? JSON.stringify(withoutSecrets(value)) : replaceSecrets(text);
  // Another field may repeat the secret.
  return maskedTexts(Buffer.from(masked), textsOf(value, false));
}

/**
 * Returns the body without these texts, and without any credential that the process knows.
 *
 * @param own texts of this exchange
 */
export function maskedTexts(body: Buffer, own: readonly string[]): Buffer {
  const found = own.filter((secret) => secret.length >= SHORTEST && body.includes(secret));
  const text = body.toString('utf8');
  const known = knownSpans(text);
  if (found.length === 0 && known.length === 0) return body;
  const shown = replaced(text, known);
  return Buffer.from(found.reduce((masked, secret) => masked.replaceAll(secret, MASK), shown));
}

/** Returns the texts of the fields with secret names in a JSON body. */
export function secretTexts(body: Buffer): readonly string[] {
  try {
    return textsOf(JSON.parse(body.toString('utf8')), false);
  } catch {
    return [];
  }
}

function textsOf(value: unknown, isSecret: boolean): readonly string[] {
  if (typeof value === 'string') return isSecret ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsOf(inner, isSecret || SECRET_FIELD.test(key)));
}

/** Minimum length of a text that is masked wherever it occurs. */
const SHORTEST = 8;

/** Replaces the strings that follow a secret name. In valid JSON, a regular expression finds every string. */
function replaceSecrets(text: string): string {
  let isSecret = false;
  return text.replaceAll(STRING, (string, at: number) => {
    COLON.lastIndex = at + string.length;
    if (COLON.test(text)) {
      isSecret = SECRET_FIELD.test(JSON.parse(string) as string);
      return string;
    }
    const wasSecret = isSecret;
    isSecret = false;
    return wasSecret && string !== '""' ? JSON.stringify(MASK) : string;
  });
}

function hasNestedSecret(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, inner]) =>
      (!Array.isArray(value) && SECRET_FIELD.test(key) && typeof inner === 'object' && inner !== null) ||
      hasNestedSecret(inner),
  );
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isSecret = SECRET_FIELD.test(key) && (typeof inner === 'string' || typeof inner === 'object');
      return [key, isSecret && inner !== null && inner !== '' ? MASK : withoutSecrets(inner)];
    }),
  );
}
