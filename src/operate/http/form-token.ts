/** Token against forged forms: another site cannot read it, so it cannot send a form of an operator's browser. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Caller } from './access.ts';
import { isSame } from './bearer.ts';

/** Secret of this process: forms from before a restart must be opened again. */
const SECRET = randomBytes(32);

/** Returns the token of the caller's session, or of the caller itself if the request has credentials. */
export function formToken({ by, session }: Caller): string {
  return createHmac('sha256', SECRET)
    .update(JSON.stringify([by, session ?? null]))
    .digest('hex');
}

export function isFormToken(given: string, caller: Caller): boolean {
  return isSame(given, formToken(caller));
}
