/** Decides from its name if a field, header or parameter contains a credential. */

/**
 * Words that always name a credential. A value with such a name is hidden everywhere, including the daemon's own data.
 */
const WORD =
  /(?:^|-)(?:token|secret|password|passwd|passphrase|passcode|pwd|pw|bearer|jwt|authorization|cookie|sig|signature|hmac|csrf|xsrf|sid|credentials|(?:api|access|secret|private|signing|account|subscription|encryption|master|shared|storage)(?:-access)?-?key)(?:-(?:value|hash|header|text|old|new|current|next|\d+))?$/;
/** The same words in names without separators. */
const GLUED =
  /(?:token|secret|password|passwd|passphrase|authorization|cookie|signature|sess(?:ion)?id|(?:api|access|secret|private|signing|account|subscription)key)$/;

/** Parts of names that other programs use for credentials: `X-Csrf`, `Ocp-Apim-Subscription-Key`, `sessionData`. */
const PART =
  /auth(?!or(?!iz))|cookie|token|secret|passw|passphrase|credential|signature|session|jwt|bearer|[cx]srf|hmac|(?:^|-)key$|(?:^|-)(?:sig|sid|otp|pin|pass|pwd|pw|private)(?:-|$)|^code$/;
const OTHER_KEYS = /(?:flow-?control|idempotency|deduplication|partition|routing)-?key$/;

/** Every name above contains one of these parts. Few other names do, and the rest is ten times as expensive. */
export const HINT = /tok|secr|pass|pw|bear|jwt|auth|cook|sig|hmac|srf|sid|cred|key|sess|otp|pin|priv|code/i;

/** Returns true for a name whose value is nearly always a credential. */
export function isCredentialName(name: string): boolean {
  if (!HINT.test(name)) return false;
  const words = wordsOf(name);
  return WORD.test(words) || GLUED.test(words);
}

/**
 * Returns true for a name whose value may be a credential. Only for data of others, where hiding too much is harmless.
 */
export function mayNameCredential(name: string): boolean {
  if (!HINT.test(name)) return false;
  const words = wordsOf(name);
  return (PART.test(words) || isCredentialName(name)) && !OTHER_KEYS.test(words);
}

/** Returns the words of a name in lower case, separated by hyphens: `X-Api_Key` and `xApiKey` become `x-api-key`. */
function wordsOf(name: string): string {
  return name
    .slice(-LONGEST_NAME)
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
    .replace(/^-|-$/g, '');
}

const LONGEST_NAME = 100;
