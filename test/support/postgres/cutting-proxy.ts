/** Proxy before a PostgreSQL server that cuts connections at a statement. */
import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface CuttingProxy {
  /** URL of the same database through the proxy. */
  readonly url: string;
  /**
   * Cuts the next connection that sends this text: before the server gets it, or after the server's response to it,
   * which is lost.
   */
  cut(text: string, when: 'before' | 'after'): void;
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  let planned: { readonly text: string; readonly when: 'before' | 'after' } | undefined;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isCutting = false;
    const end = (): void => void [client.destroy(), upstream.destroy()];
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      if (planned !== undefined && bytes.includes(planned.text)) {
        const { when } = planned;
        planned = undefined;
        if (when === 'before') return end();
        isCutting = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (isCutting) end();
      else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, cut: (text, when) => void (planned = { text, when }) };
}
