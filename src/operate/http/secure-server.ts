/** A server that speaks TLS: whom it lets in, and certificates that change under connections that stay. */
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '#foundation/platform/logger.ts';
import { refusalOf } from './client-certificate.ts';
import type { Door } from './door.ts';
import { secureContextOf } from './tls-settings.ts';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface SecureServerOptions {
  /** With TLS. */
  readonly door: Door;
  readonly logger: Logger;
  readonly answer: Answer;
  /** For what is no HTTP, on a connection whose client was let in. */
  readonly onMalformed: (error: NodeJS.ErrnoException, socket: Duplex) => void;
}

/** Within these a client must have agreed on TLS. */
const HANDSHAKE_MS = 10_000;

export async function openSecureServer(options: ServerOptions, secure: SecureServerOptions): Promise<Server> {
  const { door, logger, answer, onMalformed } = secure;
  const tls = door.web.tls!;
  const https = await import('node:https');
  /** Connections whose clients may come in: on no other is a request answered. */
  const admitted = new WeakSet<object>();
  const server = https.createServer(
    {
      ...options,
      handshakeTimeout: HANDSHAKE_MS,
      ...secureContextOf(tls),
      requestCert: tls.clientAuth !== 'NoClientCert',
      // Who may come in is for `refusalOf` to say, which knows more kinds of it.
      rejectUnauthorized: false,
    },
    (request, response) => {
      if (admitted.has(request.socket)) answer(request, response);
      else request.socket.destroy();
    },
  );
  // Before the server itself hears of the connection.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const refusal = refusalOf(socket, door.web.tls!);
    if (refusal === undefined) {
      admitted.add(socket);
      return;
    }
    logger.debug({ client: socket.remoteAddress, refusal }, 'a client was refused');
    socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (admitted.has(socket)) {
      onMalformed(error, socket);
      return;
    }
    logger.debug({ code: error.code ?? 'unknown' }, 'a client could not agree on TLS');
    socket.destroy();
  });
  // Connections that are open stay as they are.
  door.onTls((next) => server.setSecureContext(secureContextOf(next)));
  return server;
}
