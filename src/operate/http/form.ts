/** Forms of the pages, sent as `application/x-www-form-urlencoded`. */
import { readBytes } from './body.ts';
import type { Caller } from './access.ts';
import { isFormToken } from './form-token.ts';
import { HttpError } from './reply.ts';
import type { ListenerRequest } from './http-listener.ts';
import { requireSameOrigin } from './same-origin.ts';

/** Maximum size: a selection has up to 500 ids of 100 characters. */
const MAX_FORM_BYTES = 131_072;
/** Name of the hidden field with the form token. */
const TOKEN_FIELD = 'csrf';

/**
 * Reads a form that needs no caller: the sign-in.
 *
 * @throws {HttpError} 403 if another site sent the form; 415 for another content type
 */
export async function readOpenForm({ request }: Pick<ListenerRequest, 'request'>): Promise<URLSearchParams> {
  requireSameOrigin(request);
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new HttpError(415, 'bad_request', 'The body must be a form (application/x-www-form-urlencoded).');
  }
  return new URLSearchParams((await readBytes(request, MAX_FORM_BYTES)).toString('utf8'));
}

/**
 * Reads a form of a caller. The caller's role is checked before.
 *
 * @throws {HttpError} 403 if the form is not from the daemon's own page of this session
 */
export async function readForm(asked: Pick<ListenerRequest, 'request'>, caller: Caller): Promise<URLSearchParams> {
  const form = await readOpenForm(asked);
  if (isFormToken(form.get(TOKEN_FIELD) ?? '', caller)) return form;
  throw new HttpError(403, 'forbidden', 'The form is from an ended session. Reload its page and send it again.');
}
