/** Proxy before a PostgreSQL server that cuts connections at a statement, delays responses, or loses all bytes. */
import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface CuttingProxy {
  /** URL of the same database through the proxy. */
  readonly url: string;
  /** Milliseconds before each response of the server. */
  delayMs: number;
  /** Loses all bytes of all connections, which stay open. */
  isSilent: boolean;
  /** Number of requests that it has lost. */
  lost: number;
  /**
   * Cuts the next connection that sends this text: before the server gets it, or after the server's response to it,
   * which is lost.
   */
  cut(text: string, when: 'before' | 'after'): void;
  /** Connects new clients to another server. */
  follow(target: string): void;
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  let { hostname, port } = new URL(target);
  let planned: { readonly text: string; readonly when: 'before' | 'after' } | undefined;
  const open = new Set<() => void>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isCutting = false;
    const end = (): void => {
      open.delete(end);
      client.destroy();
      upstream.destroy();
    };
    open.add(end);
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      if (proxy.isSilent) return void (proxy.lost += 1);
      if (planned !== undefined && bytes.includes(planned.text)) {
        const { when } = planned;
        planned = undefined;
        if (when === 'before') return end();
        isCutting = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isCutting) return end();
      const respond = (): void => void (proxy.isSilent || client.write(bytes));
      if (proxy.delayMs === 0) respond();
      else setTimeout(respond, proxy.delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const end of open) end();
  });
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  const proxy: CuttingProxy = {
    url: url.href,
    delayMs: 0,
    isSilent: false,
    lost: 0,
    cut: (text, when) => void (planned = { text, when }),
    follow: (other) => void ({ hostname, port } = new URL(other)),
  };
  return proxy;
}
