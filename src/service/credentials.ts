/**
 * Authorization of the two APIs. The secret is revealed for one request at a time, so a rotated file takes effect
 * immediately.
 */
import type { Secret } from '#foundation/platform/secret.ts';

interface Authorization {
  /** Value of the header. */
  readonly header: string;
  /** Texts that must not appear in any message. */
  readonly secrets: readonly string[];
}

/** @throws {Error} without the secret, if the secret cannot be read or is not valid in a header */
export type Credentials = (request: { readonly write: boolean }) => Authorization;

/** @param actionToken used only for writes; without it, `token` is used for both */
export function bearer(token: Secret, actionToken: Secret | undefined): Credentials {
  return ({ write }) => {
    const value = (write ? (actionToken ?? token) : token).reveal();
    if (!/^[\x21-\x7e]+$/.test(value)) {
      throw new Error('the token is empty or contains characters that are not valid in a header');
    }
    return { header: `Bearer ${value}`, secrets: [value] };
  };
}

export function basic(username: string, password: Secret): Credentials {
  return () => {
    if (/[:\p{Cc}]/u.test(username)) {
      throw new Error(
        'the user name contains a colon or a control character, which basic authentication does not support',
      );
    }
    const value = password.reveal();
    const encoded = Buffer.from(`${username}:${value}`, 'utf8').toString('base64');
    return { header: `Basic ${encoded}`, secrets: [encoded, value] };
  };
}
