/** Authorization of the two APIs. The secret is revealed for one request at a time, so a rotated file counts at once. */
import type { Secret } from '#foundation/platform/secret.ts';

interface Authorization {
  /** Value of the header. */
  readonly header: string;
  /** What must not stand in any message. */
  readonly secrets: readonly string[];
}

/** @throws {Error} without the secret, when it cannot be read or cannot stand in a header */
export type Credentials = (request: { readonly write: boolean }) => Authorization;

/** @param actionToken for writes alone; without one, `token` serves both */
export function bearer(token: Secret, actionToken: Secret | undefined): Credentials {
  return ({ write }) => {
    const value = (write ? (actionToken ?? token) : token).reveal();
    if (!/^[\x21-\x7e]+$/.test(value)) {
      throw new Error('the token is empty or holds characters that no header can carry');
    }
    return { header: `Bearer ${value}`, secrets: [value] };
  };
}

export function basic(username: string, password: Secret): Credentials {
  return () => {
    if (/[:\p{Cc}]/u.test(username)) {
      throw new Error('the user name holds a colon or a control character, which basic authentication cannot carry');
    }
    const value = password.reveal();
    const encoded = Buffer.from(`${username}:${value}`, 'utf8').toString('base64');
    return { header: `Basic ${encoded}`, secrets: [encoded, value] };
  };
}
