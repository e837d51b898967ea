/** Servers in memory. */
import { rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { currentProcess } from './loop.ts';
import { errorOf, network, type Listener } from './network.ts';

/** Makes a server of Node listen in memory. */
export function listenOn<S extends Server>(server: S, closeIdle: () => void): S {
  const owner = currentProcess();
  let key: string | undefined;
  let port = 0;
  const listener: Listener = { owner, server, sockets: new Set() };
  const listen = (options: { readonly port?: number; readonly path?: string }): S => {
    const net = network();
    port = options.port || net.ports++;
    key = options.path ?? `:${port}`;
    process.nextTick(() => {
      if (!owner.alive) return;
      if (net.listeners.has(key!)) {
        server.emit('error', errorOf('EADDRINUSE', 'listen'));
        return;
      }
      net.listeners.set(key!, listener);
      server.emit('listening');
    });
    if (options.path !== undefined) writeFileSync(options.path, '');
    return server;
  };
  const close = (done?: () => void): S => {
    if (key !== undefined) network().listeners.delete(key);
    if (key?.startsWith('/') === true && owner.alive) rmSync(key, { force: true });
    closeIdle();
    const check = (): void => {
      if (listener.sockets.size > 0) return;
      server.emit('close');
      done?.();
    };
    for (const socket of listener.sockets) socket.once('close', check);
    if (listener.sockets.size === 0) process.nextTick(check);
    return server;
  };
  return Object.assign(server, { listen, close, address: () => ({ address: '127.0.0.1', family: 'IPv4', port }) });
}
