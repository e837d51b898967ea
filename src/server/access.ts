/**
 * Who asks, and what they may. Whoever can use the unix socket may do everything: the file's permissions say who that
 * is. Over TCP everybody reads; more needs a bearer token that the configuration names, with a role.
 */
import type { IncomingMessage } from 'node:http';
import type { Secret } from '../platform/secret.ts';
import { isSame, linesOf } from './bearer.ts';
import { HttpError } from './reply.ts';

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
  /** `local` over the unix socket, else the name of the token. */
  readonly by: string;
  readonly role: Role;
}

export interface Access {
  readonly isLocal: boolean;
  readonly tokens: readonly ApiToken[];
}

const LOCAL: Caller = { by: 'local', role: 'admin' };

/**
 * @returns undefined for a caller who shows nothing, and wherever no token is configured
 * @throws {HttpError} 401 when a token is shown that is not known: whoever shows one means to be somebody
 */
function callerOf(request: IncomingMessage, { isLocal, tokens }: Access): Caller | undefined {
  if (isLocal) return LOCAL;
  const header = request.headers.authorization;
  if (tokens.length === 0 || header === undefined) return undefined;
  const given = /^bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
  // All of them are compared, so that the time tells nothing of which one it was. Where several fit, the least counts.
  const fitting = tokens.filter((token) => isOneOf(given, token));
  const [least] = fitting.toSorted((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role));
  if (least === undefined) throw unauthorized('This bearer token is not known here.');
  return { by: least.name, role: least.role };
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

/** @param command what does the same on the machine of the daemon */
export function allow(request: IncomingMessage, access: Access, needs: Role, command: string): Caller {
  const caller = callerOf(request, access);
  if (caller === undefined) {
    if (access.tokens.length > 0) throw unauthorized(`This needs a bearer token with the role ${needs}.`);
    const message = `This address is read-only. Over the unix socket beside the store, on the machine of the daemon: ${command}. Over this address: a token in server.tokens.`;
    throw new HttpError(403, 'read_only', message);
  }
  if (ROLES.indexOf(caller.role) >= ROLES.indexOf(needs)) return caller;
  const message = `This needs the role ${needs}; the token ${caller.by} has the role ${caller.role}.`;
  throw new HttpError(403, 'forbidden', message);
}

/** Reading needs no token; one that is shown must be right all the same. */
export function allowReading(request: IncomingMessage, access: Access): void {
  callerOf(request, access);
}

/** What touches the daemon's machine itself is never for those who are not on it. */
export function allowLocal(access: Access, command: string): Caller {
  if (access.isLocal) return LOCAL;
  const message = `This is for the unix socket beside the store alone, on the machine of the daemon: ${command}.`;
  throw new HttpError(403, 'read_only', message);
}

function unauthorized(message: string): HttpError {
  const how = `${message} Send it as: Authorization: Bearer TOKEN.`;
  return new HttpError(401, 'unauthorized', how, { 'WWW-Authenticate': 'Bearer' });
}
