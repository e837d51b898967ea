/** Cookie of a session. Its name has the port, because browsers send cookies to all ports of a host. */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { SESSION_MS } from './sessions.ts';

/** 32 random bytes as base64url. */
const VALUE = /^[\w-]{43}$/;

/** @returns the value of the cookie; undefined without one */
export function sessionCookie(request: IncomingMessage): string | undefined {
  const name = cookieName(request);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=');
    const value = pair.slice(equals + 1).trim();
    if (equals > 0 && pair.slice(0, equals).trim() === name && VALUE.test(value)) return value;
  }
  return undefined;
}

/**
 * Returns the header `Set-Cookie`.
 *
 * @param value undefined removes the cookie
 */
export function setSessionCookie(request: IncomingMessage, value: string | undefined): string {
  const seconds = value === undefined ? 0 : SESSION_MS / 1_000;
  const secure = isSecure(request) ? '; Secure' : '';
  return `${cookieName(request)}=${value ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieName(request: IncomingMessage): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1] ?? '';
  // The prefix makes browsers refuse the cookie from other hosts and over plain HTTP.
  return `${isSecure(request) ? '__Host-' : ''}opsd${port}`;
}

function isSecure({ socket }: IncomingMessage): boolean {
  // Not by its class, which a daemon without TLS need not load.
  return (socket as Partial<TLSSocket>).encrypted === true;
}
