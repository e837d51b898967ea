/** Which keys hold secrets, misspelt ones included: what is written there, or below, is never shown. */
import { editDistance } from './suggest.ts';

/** Headers carry credentials under any name; whoever knows the URL of a webhook may use it; a key is a private one. */
const SECRET_WORD =
  /^headers$|^webhook$|^key$|basic_?auth|token|password|passwd|secret|credential|authorization|signing|api-?_?key/i;
const SECRET_KEYS = ['token', 'actiontoken', 'password'];

export function isSecretKey(key: string): boolean {
  if (/file$/i.test(key)) return false;
  return SECRET_WORD.test(key) || SECRET_KEYS.some((secret) => isMisspelt(key.toLowerCase(), secret));
}

function isMisspelt(key: string, secret: string): boolean {
  return Math.abs(key.length - secret.length) <= 2 && editDistance(key, secret) <= 2;
}

/** Whether a path such as `accounts[0].token` leads into a secret. */
export function isSecretPath(path: readonly PropertyKey[]): boolean {
  return path.some((part) => typeof part === 'string' && isSecretKey(part));
}

/** What stands before the @ of a URL, of a half-written one too. */
export const USER_INFO = /(?<=:\/\/)[^\s'"]+(?=@)|[^\s'":/]+:(?!\/\/)[^\s'"]+(?=@)/g;
