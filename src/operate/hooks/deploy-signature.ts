/**
 * Signature of a report of a deploy: `Opsd-Signature: t=SECONDS,v1=HEX`, with the HMAC-SHA256 of `SECONDS.BODY` under a key
 * of the hook. A shell can make it with openssl.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Secret } from '#foundation/platform/secret.ts';
import { isOneOf, linesOf } from '../http/bearer.ts';
import { HttpError } from '../http/reply.ts';

/** Largest difference between the time of a signature and the daemon's clock. */
const TOLERANCE_S = 300;
/** Maximum number of remembered signatures. A report that is stored twice is one deploy if it gives its time. */
const MAX_SEEN = 1_000;

/**
 * Returns a check, which returns a function to call after the report was stored.
 *
 * @throws {HttpError} 401 if the signature is missing, wrong or old; 200 if its report was already stored
 */
export function createDeploySignature(
  keys: Secret,
  clock: Clock,
): (header: string | undefined, body: Buffer) => () => void {
  const seen = new Map<string, number>();
  return (header, body) => {
    const [, time = '', mac = ''] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
    const now = clock.now() / 1_000;
    const expected = linesOf(keys).map((key) =>
      createHmac('sha256', key).update(`${time}.`).update(body).digest('hex'),
    );
    if (!isOneOf(mac, expected) || !(Math.abs(now - Number(time)) <= TOLERANCE_S)) {
      const message = `A valid signature is required: Opsd-Signature: t=SECONDS,v1=HEX, at most ${TOLERANCE_S} s old.`;
      throw new HttpError(401, 'bad_signature', message);
    }
    for (const [old, at] of seen) if (seen.size > MAX_SEEN || now - at > 2 * TOLERANCE_S) seen.delete(old);
    if (seen.has(mac)) throw new HttpError(200, 'replay', 'This report was already stored; nothing was done.');
    return () => void seen.set(mac, now);
  };
}
