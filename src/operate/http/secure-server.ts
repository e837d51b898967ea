/** TLS server: admission of clients, and certificates that change without closing connections. */
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import { refusalOf } from './client-certificate.ts';
import type { ListenerSecurity } from './listener-security.ts';
import { secureContextOf } from './tls-settings.ts';

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

interface SecureServerOptions {
  /** Web configuration with TLS. */
  readonly security: ListenerSecurity;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Configuration key of the web configuration file, for the log. */
  readonly setting: string;
  readonly answer: RequestListener;
  /** Handler of invalid HTTP from an admitted client. */
  readonly onMalformed: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

/** Time limit of the TLS handshake. */
const HANDSHAKE_MS = 10_000;
/** Interval of log lines about rejected clients: a port scan must not fill the log. */
const LOG_EVERY_MS = 60_000;

export async function openSecureServer(options: ServerOptions, secure: SecureServerOptions): Promise<Server> {
  const { security, logger, answer, onMalformed } = secure;
  const reportRefusal = refusalLog(secure);
  const tls = security.web.tls!;
  const https = await import('node:https');
  /** Connections of admitted clients. Requests on other connections are not answered. */
  const admitted = new WeakSet<object>();
  const server = https.createServer(
    {
      ...options,
      handshakeTimeout: HANDSHAKE_MS,
      ...secureContextOf(tls),
      requestCert: tls.clientAuth !== 'NoClientCert',
      // `refusalOf` decides on admission, since it supports more kinds.
      rejectUnauthorized: false,
    },
    (request, response) => {
      if (admitted.has(request.socket)) answer(request, response);
      else request.socket.destroy();
    },
  );
  // Before the server's own listener for the connection.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const refusal = refusalOf(socket, security.web.tls!);
    if (refusal === undefined) {
      admitted.add(socket);
      return;
    }
    reportRefusal(socket, refusal);
    socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (admitted.has(socket)) {
      onMalformed(error, socket);
      return;
    }
    logger.debug({ code: error.code ?? 'unknown' }, 'TLS handshake failed');
    socket.destroy();
  });
  // Open connections are not affected.
  security.onTls((next) => server.setSecureContext(secureContextOf(next)));
  return server;
}

/** Logs the first rejected client, then at most one each minute. The client gets no reason. */
function refusalLog({ security, logger, clock, setting }: SecureServerOptions) {
  let dueAt = -Infinity;
  let unlogged = 0;
  return ({ remoteAddress: client }: TLSSocket, refusal: string): void => {
    const now = clock.monotonic();
    if (now < dueAt) {
      unlogged += 1;
      return;
    }
    dueAt = now + LOG_EVERY_MS;
    const rule = `client_auth_type ${security.web.tls!.clientAuth} in ${setting}`;
    logger.warn({ client, refusal, rule, ...(unlogged > 0 && { unlogged }) }, 'client rejected');
    unlogged = 0;
  };
}
