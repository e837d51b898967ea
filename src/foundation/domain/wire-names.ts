/** How the names of an installation may be spelt: with others no header could be sent, or no path be asked for. */

interface Spelling {
  readonly form: RegExp;
  readonly expected: string;
}

/** `Svc` of `Svc-Retries`. */
export const HEADER_PREFIX: Spelling = { form: /^[A-Za-z][A-Za-z0-9-]*$/, expected: 'letters, digits and hyphens' };
/** `msgsvc` of `/v2/msgsvc/stats`. */
export const PRODUCT: Spelling = { form: /^[a-z][a-z0-9_]*$/, expected: 'lower-case letters, digits and underscores' };
