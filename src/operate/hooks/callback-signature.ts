/**
 * The signature of the service's requests: an HS256 JWT (RFC 7519) over issuer, destination, times, an id for each
 * attempt, and the body's SHA-256. The interface says that receivers verify it and not how; this is what is known of it.
 */
import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { isSame, linesOf } from '../http/bearer.ts';
import { HttpError } from '../http/reply.ts';

/** Clocks differ. */
const LEEWAY_S = 60;
/** Ids that are remembered until they expire; the oldest make room, since what is taken twice does no harm. */
const MAX_SEEN = 10_000;

interface SignedRequest {
  /** Value of the signature's header. */
  readonly signature: string | undefined;
  readonly body: Buffer;
}

export interface SignatureCheck {
  /** Current and next key, a line each. */
  readonly keys: Secret;
  /** The address that callbacks are sent to; undefined: it is not compared. */
  readonly url?: string;
}

/**
 * @returns to be called when the request was taken: then its id is known
 * @throws {HttpError} 401 for a signature that is missing, wrong, out of date or for another; 200 for one that was taken
 * before, since its sender need not send it again
 */
export type VerifySignature = (request: SignedRequest) => () => void;

export function createSignatureCheck(check: SignatureCheck, clock: Clock): VerifySignature {
  /** When each id may be forgotten, epoch seconds. */
  const seen = new Map<string, number>();

  function remember(id: string, until: number, now: number): void {
    seen.delete(id);
    seen.set(id, until);
    for (const [old, end] of seen) {
      if (end > now && seen.size <= MAX_SEEN) break;
      seen.delete(old);
    }
  }

  return ({ signature, body }) => {
    const [head = '', payload = '', mac = '', ...more] = (signature ?? '').split('.');
    const header = jsonOf(head);
    const claims = jsonOf(payload);
    // Anything but this one algorithm is refused, "none" above all.
    if (header?.['alg'] !== 'HS256' || claims === undefined || more.length > 0) throw refused();
    const signs = (key: string): boolean =>
      isSame(mac, createHmac('sha256', key).update(`${head}.${payload}`).digest('base64url'));
    if (!linesOf(check.keys).map(signs).includes(true)) throw refused();

    const now = Math.floor(clock.now() / 1_000);
    const { nbf, exp, sub, jti } = claims;
    const hash = typeof claims['body'] === 'string' ? claims['body'].replace(/=+$/, '') : '';
    if (typeof exp !== 'number' || exp + LEEWAY_S <= now) throw refused();
    if (typeof nbf !== 'number' || nbf - LEEWAY_S > now) throw refused();
    if (!isSame(hash, createHash('sha256').update(body).digest('base64url'))) throw refused();
    if (check.url !== undefined && sub !== check.url) throw refused();
    if (typeof jti !== 'string' || jti === '' || jti.length > 256) throw refused();
    if ((seen.get(jti) ?? 0) > now) throw new HttpError(200, 'replay', 'This was taken before; nothing was done.');
    return () => remember(jti, exp + LEEWAY_S, now);
  };
}

/** One answer for all: who forges learns nothing. */
function refused(): HttpError {
  return new HttpError(401, 'bad_signature', 'The signature of this request is missing or not valid.');
}

function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
