/** Masks secrets in a response body. All other bytes stay as they are. */
import { MASK } from '#foundation/domain/redact.ts';

const SECRET_FIELD = /token|secret|password|credential|api_?key/i;
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const COLON = /\s*:/y;

/** Returns a copy of a JSON body, without the texts of fields with secret names. */
export function maskedJson(body: Buffer): Buffer {
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.trim() === '' ? Buffer.from(body) : Buffer.from(MASK);
  }
  // Such a value has no text of its own that could be replaced.
  if (hasNestedSecret(value)) return Buffer.from(JSON.stringify(withoutSecrets(value)));
  return Buffer.from(replaceSecrets(text));
}

/** Returns the body without these texts. */
export function maskedTexts(body: Buffer, secrets: readonly string[]): Buffer {
  const found = secrets.filter((secret) => secret.length >= SHORTEST && body.includes(secret));
  if (found.length === 0) return body;
  let text = body.toString('utf8');
  for (const secret of found) text = text.replaceAll(secret, MASK);
  return Buffer.from(text);
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
