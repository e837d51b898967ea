/** Decision about which keys of a file have secrets, also misspelt ones. Their values are never shown. */
import { mayNameCredential } from '#foundation/domain/credential-names.ts';
import { editDistance } from '#foundation/domain/suggest.ts';

/** Other keys with secrets. Headers may have credentials under any name, and the URLs of a webhook and of a database grant their use. */
const OTHER_SECRETS = /^headers$|^webhook$|^postgres$|signing/i;
const SECRET_KEYS = ['token', 'actiontoken', 'password'];

export function isSecretKey(key: string): boolean {
  if (/(?:file|type)$/i.test(key)) return false;
  return (
    OTHER_SECRETS.test(key) ||
    mayNameCredential(key) ||
    SECRET_KEYS.some((secret) => isMisspelt(key.toLowerCase(), secret))
  );
}

function isMisspelt(key: string, secret: string): boolean {
  return Math.abs(key.length - secret.length) <= 2 && editDistance(key, secret) <= 2;
}

/** Returns true for a path such as `accounts[0].token`, which leads into a secret. */
export function isSecretPath(path: readonly PropertyKey[]): boolean {
  return path.some((part) => typeof part === 'string' && isSecretKey(part));
}

/** Returns true if `tokenFile` contains the secret itself instead of a path. */
export function isSecretInsteadOfPath(key: string, value: string): boolean {
  const [, about] = /^(.*?)[-_]?file$/i.exec(key) ?? [];
  // A line of a broken file has a key at each colon, and the rest of the line as its value: only paths are searched.
  if (about === undefined || (about !== 'url' && !isSecretKey(about))) return false;
  // An unclosed reference ends with the text. Otherwise, each one would be searched to the end.
  const path = value.replace(/\$\{[^}]*\}?/g, 'x');
  return !looksLikePath(path);
}

const FILE_NAME = /^[\w-]{1,32}\.(?:txt|key|token|pem|crt|secret|password|jwt|env)$/i;

/** Returns true for a text with folders or an extension, and without a part that looks like a random key. */
export function looksLikePath(text: string): boolean {
  if (!text.includes('/')) return FILE_NAME.test(text);
  return text
    .split('/')
    .every((part) => /^[\w.~@-]{0,40}$/.test(part) && !/^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)/.test(part));
}
