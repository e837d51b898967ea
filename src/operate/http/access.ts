/**
 * Callers and their permissions. A caller over the unix socket may do everything: the file's permissions decide. Over
 * TCP, a caller identifies with a bearer token from the configuration, with a user and password from the web
 * configuration file, or with the session of a sign-in with one of them. An anonymous caller may only read, or nothing
 * at all.
 */
import { LOCAL_USER_HEADER } from '#foundation/platform/socket-path.ts';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Secret } from '#foundation/platform/secret.ts';
import { isOneOf, linesOf } from './bearer.ts';
import type { Login, Passwords } from './passwords.ts';
import { HttpError } from './reply.ts';
import { requireSameOrigin } from './same-origin.ts';
import { sessionCookie } from './session-cookie.ts';
import type { Sessions } from './sessions.ts';
import type { SignInCode } from './sign-in-code.ts';
import type { SignInLimit } from './sign-in-limit.ts';

/** Roles. Each one includes the permissions of the previous ones. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface ApiToken {
  /** Name in the audit log for the token's user. */
  readonly name: string;
  readonly token: Secret;
  readonly role: Role;
}

export interface Caller {
  /** `local` or `local (USER)` over the unix socket, else the name of the token or of the user. */
  readonly by: string;
  readonly role: Role;
  /** Id of the session, if the caller has no other credentials. */
  readonly session?: string;
}

/** Identity that a sign-in proved. The session ends when it changes. */
export interface Entrant {
  readonly kind: 'token' | 'user' | 'code';
  readonly by: string;
  readonly role: Role;
  /** Hash of the token, or of the password's hash. */
  readonly proof: string;
}

/** Sign-in by a code of the program that starts the daemon. It works once. */
export interface CodeEntry {
  readonly code: SignInCode;
  readonly by: string;
  readonly role: Role;
}

/** Callers that are accepted over TCP. */
interface Entrants {
  readonly tokens: readonly ApiToken[];
  /** Current hashes of passwords, by user. */
  users(): ReadonlyMap<string, Secret>;
  /** Roles of users; a user without one is a viewer. */
  readonly roles: ReadonlyMap<string, Role>;
  readonly passwords: Passwords;
  readonly sessions: Sessions<Entrant>;
  readonly signIns: SignInLimit;
  readonly entry?: CodeEntry | undefined;
  /** Permission of anonymous callers to read; ignored if there are users. */
  readonly anonymous: 'viewer' | 'none';
}

/** Access of callers on the daemon's machine, or of remote callers. */
export type Access = { readonly isLocal: true } | ({ readonly isLocal: false } & Entrants);

export const LOCAL_ACCESS: Access = { isLocal: true };
const USER_NAME = /^[\w.@%+-]{1,64}$/;
const LOCAL: Caller = { by: 'local', role: 'admin' };

/**
 * Returns `local`, with the Unix user that the command claims, such as `local (alice)`. The socket does not reveal its
 * peer's user, so the name is a claim. It never looks like the name of a token or user, which has no parentheses.
 */
function localName({ headers }: IncomingMessage): string {
  const claimed = headers[LOCAL_USER_HEADER];
  return typeof claimed === 'string' && USER_NAME.test(claimed) ? `${LOCAL.by} (${claimed})` : LOCAL.by;
}

/**
 * Identifies the caller before anything else, also before the body is read.
 *
 * @returns undefined for an anonymous caller who may read
 * @throws {HttpError} 401 for missing or unknown credentials: a caller with credentials is never treated as anonymous; 403
 *   for a request that a browser sends for another site; 429 after too many wrong credentials from an address
 */
export async function identify(request: IncomingMessage, access: Access): Promise<Caller | undefined> {
  if (access.isLocal) {
    // A forwarded socket can be reached by a browser.
    requireSameOrigin(request);
    return { ...LOCAL, by: localName(request) };
  }
  const { tokens } = access;
  const users = access.users();
  const header = request.headers.authorization;
  const signedIn = header === undefined ? bySession(request, access) : undefined;
  if (signedIn !== undefined) {
    requireSameOrigin(request);
    return signedIn;
  }
  if (isOpen(access) && (tokens.length === 0 || header === undefined)) return undefined;
  if (header === undefined) throw unauthorized(access, 'Credentials are required.');
  const [scheme = '', given = ''] = header.trim().split(/ +/, 2);
  if (scheme.toLowerCase() === 'basic' && users.size > 0) {
    const caller = await byPassword(given, request, access);
    // Browsers send a password automatically, whichever site causes the request.
    requireSameOrigin(request);
    return caller;
  }
  const token = scheme.toLowerCase() === 'bearer' ? given : '';
  const caller = byToken(token, tokens);
  if (caller !== undefined) return caller;
  await access.signIns.wrongToken(request.socket.remoteAddress, token);
  throw unauthorized(access, 'The bearer token is invalid.');
}

/** Returns true if anonymous callers may read. */
export function isOpen(access: Access): boolean {
  return !access.isLocal && access.users().size === 0 && access.anonymous === 'viewer';
}

/** @returns the caller of a session; undefined without one, or if the identity has changed since the sign-in */
export function bySession(request: IncomingMessage, access: Access): Caller | undefined {
  const cookie = access.isLocal ? undefined : sessionCookie(request);
  if (cookie === undefined || access.isLocal) return undefined;
  const session = access.sessions.find(cookie);
  if (session === undefined) return undefined;
  const { id, entrant } = session;
  const now = entrantNow(entrant, access);
  if (now?.by === entrant.by && now.role === entrant.role && now.proof === entrant.proof) {
    return { by: entrant.by, role: entrant.role, session: id };
  }
  access.sessions.end(id);
  return undefined;
}

/**
 * Identifies the caller of a sign-in.
 *
 * @param address network address of the client
 * @returns undefined for wrong credentials
 * @throws {HttpError} 503 if too many passwords are being checked; 429 after too many wrong credentials
 */
export async function entrantOf(
  { user, secret }: { readonly user: string; readonly secret: string },
  access: Entrants,
  address: string | undefined,
): Promise<Entrant | undefined> {
  if (user !== '')
    return (await isPassword({ user, password: secret }, access, address)) ? userNow(user, access) : undefined;
  const entrant = tokenNow(proofOf(secret), access);
  if (entrant === undefined) await access.signIns.wrongToken(address, secret);
  return entrant;
}

/** Checks a password. Only comparisons are limited: users whose password is known to be right are not. */
async function isPassword(login: Login, entrants: Entrants, address: string | undefined): Promise<boolean> {
  const limit = async (compare: () => Promise<boolean>): Promise<boolean> =>
    (await entrants.signIns.attempt(address, async () => (await compare()) || undefined)) ?? false;
  return entrants.passwords.isRight(login, entrants.users(), limit);
}

/** Identifies the caller of a sign-in by code. @returns undefined if the code is wrong or used */
export function entrantOfCode(given: string, entrants: Entrants, address: string | undefined): Entrant | undefined {
  return entrants.entry?.code.use(given, address) === true ? codeNow(entrants) : undefined;
}

function codeNow({ entry }: Entrants): Entrant | undefined {
  return entry && { kind: 'code', by: entry.by, role: entry.role, proof: entry.code.hash };
}

/** Returns the identity of a session as it is now. */
function entrantNow({ kind, by, proof }: Entrant, access: Entrants): Entrant | undefined {
  if (kind === 'code') return codeNow(access);
  return kind === 'user' ? userNow(by, access) : tokenNow(proof, access);
}

function userNow(user: string, entrants: Entrants): Entrant | undefined {
  const hash = entrants.users().get(user);
  const role = entrants.roles.get(user) ?? 'viewer';
  return hash && { kind: 'user', by: user, role, proof: proofOf(hash.reveal()) };
}

function tokenNow(proof: string, { tokens }: Entrants): Entrant | undefined {
  const least = leastOf(tokens.filter(({ token }) => readable(token).some((line) => proofOf(line) === proof)));
  return least && { kind: 'token', by: least.name, role: least.role, proof };
}

function proofOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function byToken(given: string, tokens: readonly ApiToken[]): Caller | undefined {
  // All tokens are compared, so that the time does not show which one matched.
  const least = leastOf(tokens.filter(({ token }) => isOneOf(given, readable(token))));
  return least && { by: least.name, role: least.role };
}

/** Token with the lowest role, which counts if several match. */
function leastOf(tokens: readonly ApiToken[]): ApiToken | undefined {
  return tokens.toSorted((a, b) => ROLES.indexOf(a.role) - ROLES.indexOf(b.role))[0];
}

/** Lines of a token's file. An unreadable file matches no token, and does not affect the other files. */
function readable(token: Secret): readonly string[] {
  try {
    return linesOf(token);
  } catch {
    return [];
  }
}

/** Identifies a user. */
async function byPassword(given: string, { socket }: IncomingMessage, entrants: Entrants): Promise<Caller> {
  const text = Buffer.from(given, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = text.slice(0, Math.max(0, colon));
  const login = { user, password: text.slice(colon + 1) };
  const isRight = colon > 0 && (await isPassword(login, entrants, socket.remoteAddress));
  if (!isRight) throw unauthorized(entrants, 'The user or the password is wrong.');
  return { by: user, role: entrants.roles.get(user) ?? 'viewer' };
}

/** Credentials of a request. */
interface Asking {
  readonly access: Access;
  readonly caller: Caller | undefined;
}

/** Returns true if `allow` would. Pages have no buttons that their reader cannot use. */
export function mayUse({ caller }: Pick<Asking, 'caller'>, needs: Role): boolean {
  return caller !== undefined && ROLES.indexOf(caller.role) >= ROLES.indexOf(needs);
}

/** @param command command with the same effect on the daemon's machine */
export function allow({ access, caller }: Asking, needs: Role, command: string): Caller {
  if (caller === undefined) {
    if (!access.isLocal && access.tokens.length > 0) throw unauthorized(access, `The role ${needs} is required.`);
    const message = `This address is read-only. Use the unix socket next to the store, on the daemon’s machine: \`${command}\`. Or add a token to server.tokens.`;
    throw new HttpError(403, 'read_only', message);
  }
  if (mayUse({ caller }, needs)) return caller;
  const message = `The role ${needs} is required; ${caller.by} has the role ${caller.role}.`;
  throw new HttpError(403, 'forbidden', message);
}

/** Checks access to the daemon's machine itself, which is never allowed to remote callers. */
export function allowLocal({ access }: Asking, command: string): Caller {
  if (access.isLocal) return LOCAL;
  const message = `This is only possible over the unix socket next to the store, on the daemon’s machine: \`${command}\`.`;
  throw new HttpError(403, 'read_only', message);
}

/** Lists all accepted kinds of credentials. */
function unauthorized(entrants: Entrants, message: string): HttpError {
  const ways = [
    ...(entrants.users().size > 0
      ? [{ challenge: 'Basic realm="opsd", charset="UTF-8"', how: 'a user and a password (basic authentication)' }]
      : []),
    ...(entrants.tokens.length > 0 ? [{ challenge: 'Bearer realm="opsd"', how: 'Authorization: Bearer TOKEN' }] : []),
  ];
  const how = `${message} Accepted: ${ways.map((way) => way.how).join(', or ')}.`;
  return new HttpError(401, 'unauthorized', how, { 'WWW-Authenticate': ways.map((way) => way.challenge) });
}
