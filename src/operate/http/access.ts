/**
 * Who asks, and what they may. Whoever can use the unix socket may do everything: the file's permissions say who that
 * is. Over TCP people and programs are somebody by a bearer token that the configuration names, or by a user and a
 * password of the web configuration file; who is nobody reads, or gets nothing.
 */
import type { IncomingMessage } from 'node:http';
import type { Secret } from '#foundation/platform/secret.ts';
import { isSame, linesOf } from './bearer.ts';
import type { Passwords } from './passwords.ts';
import { HttpError } from './reply.ts';
import { requireSameOrigin } from './same-origin.ts';

/** Each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface ApiToken {
  /** Stands in the audit log for whoever used it. */
  readonly name: string;
  readonly token: Secret;
  readonly role: Role;
}

export interface Caller {
  /** `local` over the unix socket, else the name of the token or of the user. */
  readonly by: string;
  readonly role: Role;
}

/** Who may come in over TCP. */
interface Entrants {
  readonly tokens: readonly ApiToken[];
  /** Hashes of passwords, by user, as they are now. */
  users(): ReadonlyMap<string, Secret>;
  /** Of users; who is not among them is a viewer. */
  readonly roles: ReadonlyMap<string, Role>;
  readonly passwords: Passwords;
  /** Whether those may read who show nothing; where there are users they may not. */
  readonly anonymous: 'viewer' | 'none';
}

/** Those on the daemon's machine, or those who come from elsewhere. */
export type Access = { readonly isLocal: true } | ({ readonly isLocal: false } & Entrants);

export const LOCAL_ACCESS: Access = { isLocal: true };
const LOCAL: Caller = { by: 'local', role: 'admin' };

/**
 * Before anything else is done for a request, and before its body is read.
 *
 * @returns undefined for a caller who shows nothing and may read all the same
 * @throws {HttpError} 401 for one who shows nothing and must, or who shows what is not known: whoever shows something
 *   means to be somebody; 403 for what a browser sends on behalf of another site
 */
export async function identify(request: IncomingMessage, access: Access): Promise<Caller | undefined> {
  if (access.isLocal) return LOCAL;
  const { tokens } = access;
  const users = access.users();
  const header = request.headers.authorization;
  if (isOpen(access) && (tokens.length === 0 || header === undefined)) return undefined;
  if (header === undefined) throw unauthorized(access, 'This needs credentials.');
  const [scheme = '', given = ''] = header.trim().split(/ +/, 2);
  if (scheme.toLowerCase() === 'basic' && users.size > 0) {
    const caller = await byPassword(given, users, access);
    // Browsers show a password unasked, whichever site makes them send a request.
    requireSameOrigin(request);
    return caller;
  }
  const caller = byToken(scheme.toLowerCase() === 'bearer' ? given : '', tokens);
  if (caller === undefined) throw unauthorized(access, 'This bearer token is not known here.');
  return caller;
}

/** Whether everybody may read. */
export function isOpen(access: Access): boolean {
  return !access.isLocal && access.users().size === 0 && access.anonymous === 'viewer';
}

function byToken(given: string, tokens: readonly ApiToken[]): Caller | undefined {
  // All of them are compared, so that the time tells nothing of which one it was. Where several fit, the least counts.
  const fitting = tokens.filter((token) => isOneOf(given, token));
  const [least] = fitting.toSorted((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role));
  return least && { by: least.name, role: least.role };
}

function isOneOf(given: string, { token }: ApiToken): boolean {
  let isKnown = false;
  for (const line of readable(token)) isKnown = isSame(given, line) || isKnown;
  return isKnown;
}

/** A file that cannot be read lets nobody in, and keeps nobody out whose token is in another. */
function readable(token: Secret): readonly string[] {
  try {
    return linesOf(token);
  } catch {
    return [];
  }
}

async function byPassword(given: string, users: ReadonlyMap<string, Secret>, entrants: Entrants): Promise<Caller> {
  const text = Buffer.from(given, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = text.slice(0, Math.max(0, colon));
  const isRight = colon > 0 && (await entrants.passwords.isRight({ user, password: text.slice(colon + 1) }, users));
  if (!isRight) throw unauthorized(entrants, 'This user and password are not known here.');
  return { by: user, role: entrants.roles.get(user) ?? 'viewer' };
}

/** What is known of who asks. */
interface Asking {
  readonly access: Access;
  readonly caller: Caller | undefined;
}

/** @param command what does the same on the machine of the daemon */
export function allow({ access, caller }: Asking, needs: Role, command: string): Caller {
  if (caller === undefined) {
    if (!access.isLocal && access.tokens.length > 0) throw unauthorized(access, `This needs the role ${needs}.`);
    const message = `This address is read-only. Over the unix socket beside the store, on the machine of the daemon: \`${command}\`. Over this address: a token in server.tokens.`;
    throw new HttpError(403, 'read_only', message);
  }
  if (ROLES.indexOf(caller.role) >= ROLES.indexOf(needs)) return caller;
  const message = `This needs the role ${needs}; ${caller.by} has the role ${caller.role}.`;
  throw new HttpError(403, 'forbidden', message);
}

/** What touches the daemon's machine itself is never for those who are not on it. */
export function allowLocal({ access }: Asking, command: string): Caller {
  if (access.isLocal) return LOCAL;
  const message = `This is for the unix socket beside the store alone, on the machine of the daemon: \`${command}\`.`;
  throw new HttpError(403, 'read_only', message);
}

/** Says of each way in that there is. */
function unauthorized(entrants: Entrants, message: string): HttpError {
  const ways = [
    ...(entrants.users().size > 0
      ? [{ challenge: 'Basic realm="opsd", charset="UTF-8"', how: 'a user and a password (basic authentication)' }]
      : []),
    ...(entrants.tokens.length > 0 ? [{ challenge: 'Bearer realm="opsd"', how: 'Authorization: Bearer TOKEN' }] : []),
  ];
  const how = `${message} What is taken: ${ways.map((way) => way.how).join(', or ')}.`;
  return new HttpError(401, 'unauthorized', how, { 'WWW-Authenticate': ways.map((way) => way.challenge) });
}
