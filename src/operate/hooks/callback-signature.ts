/**
 * Signature of the service's requests: an HS256 JWT (RFC 7519) over issuer, destination, times, an id for each attempt,
 * and the body's SHA-256. The interface requires receivers to verify it but does not say how; this is the known format.
 */
import { createHash, createHmac } from 'node:crypto';
import { isRecord, jsonOf } from '#foundation/domain/json.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { isSame, linesOf } from '../http/bearer.ts';
import { HttpError } from '../http/reply.ts';

/** Tolerance for differences between clocks. */
const LEEWAY_S = 60;
/**
 * Maximum number of remembered ids, until they expire. The oldest are dropped first: a repeated request is harmless.
 */
const MAX_SEEN = 10_000;

interface SignedRequest {
  /** Value of the signature's header. */
  readonly signature: string | undefined;
  readonly body: Buffer;
}

export interface SignatureCheck {
  /** Current and next key, one on each line. */
  readonly keys: Secret;
  /** Address of the callbacks; undefined: it is not compared. */
  readonly url?: string;
}

/**
 * @returns a function to call after the request was stored, which records its id
 * @throws {HttpError} 401 if the signature is missing, wrong, expired or for another address; 200 if the request was already
 *   stored, so that its sender does not repeat it
 */
export type VerifySignature = (request: SignedRequest) => () => void;

export function createSignatureCheck(check: SignatureCheck, clock: Clock): VerifySignature {
  /** Expiry of each id, in epoch seconds. */
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
    const header = recordIn(head);
    const claims = recordIn(payload);
    // Only this algorithm is accepted, above all not "none".
    if (header?.['alg'] !== 'HS256' || claims === undefined || more.length > 0) throw refused();
    const signs = (key: string): boolean =>
      isSame(mac, createHmac('sha256', key).update(`${head}.${payload}`).digest('base64url'));
    if (!linesOf(check.keys).map(signs).includes(true)) throw refused();

    const now = Math.floor(clock.now() / 1_000);
    const { nbf, exp, sub, jti } = claims;
    const hash = typeof claims['body'] === 'string' ? claims['body'].replace(/(?<!=)=+$/, '') : '';
    if (typeof exp !== 'number' || exp + LEEWAY_S <= now) throw refused();
    if (typeof nbf !== 'number' || nbf - LEEWAY_S > now) throw refused();
    if (!isSame(hash, createHash('sha256').update(body).digest('base64url'))) throw refused();
    if (check.url !== undefined && sub !== check.url) throw refused();
    if (typeof jti !== 'string' || jti === '' || jti.length > 256) throw refused();
    if ((seen.get(jti) ?? 0) > now)
      throw new HttpError(200, 'replay', 'This request was already stored; nothing was done.');
    return () => remember(jti, exp + LEEWAY_S, now);
  };
}

/** One response for all faults: a forger learns nothing. */
function refused(): HttpError {
  return new HttpError(401, 'bad_signature', 'The signature of this request is missing or not valid.');
}

function recordIn(part: string): Readonly<Record<string, unknown>> | undefined {
  const value = jsonOf(Buffer.from(part, 'base64url').toString('utf8'));
  return isRecord(value) ? value : undefined;
}
