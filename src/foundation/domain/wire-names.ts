/** Valid forms of an installation's names. Other names are not valid in a header or path. */

interface Spelling {
  readonly form: RegExp;
  readonly expected: string;
}

/** `Svc` in `Svc-Retries`. */
export const HEADER_PREFIX: Spelling = { form: /^[A-Za-z][A-Za-z0-9-]*$/, expected: 'letters, digits and hyphens' };
/** `msgsvc` in `/v2/msgsvc/stats`. */
export const PRODUCT: Spelling = { form: /^[a-z][a-z0-9_]*$/, expected: 'lower-case letters, digits and underscores' };
