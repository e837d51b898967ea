/**
 * Proxy before a PostgreSQL server that records statements, cuts connections at one, delays responses, or loses all
 * bytes.
 */
import { connect, createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface CuttingProxy {
  /** URL of the same database through the proxy. */
  readonly url: string;
  /** Milliseconds before each response of the server. */
  delayMs: number;
  /** Loses all bytes of all connections, which stay open. */
  isSilent: boolean;
  /** Keeps all responses of the server until `release`. */
  isHeld: boolean;
  release(): void;
  /** Number of requests that it has lost. */
  lost: number;
  /** Statements of all connections, oldest first. */
  readonly statements: string[];
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
  let held: (() => void)[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const statementsIn = statementReader();
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
      proxy.statements.push(...statementsIn(bytes));
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
      if (proxy.isHeld) held.push(respond);
      else if (proxy.delayMs === 0) respond();
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
    isHeld: false,
    release() {
      proxy.isHeld = false;
      for (const respond of held) respond();
      held = [];
    },
    lost: 0,
    statements: [],
    cut: (text, when) => void (planned = { text, when }),
    follow: (other) => void ({ hostname, port } = new URL(other)),
  };
  return proxy;
}

/** Returns a function that finds the statements in the bytes of one client without TLS. */
function statementReader(): (bytes: Buffer) => string[] {
  let rest = Buffer.alloc(0);
  /** The first message has no type. */
  let typeBytes = 0;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const found: string[] = [];
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) break;
      const type = typeBytes === 1 ? String.fromCharCode(rest[0]!) : '';
      // A statement of the extended protocol has an empty name before its text.
      if (type === 'Q' || type === 'P') found.push(textAt(rest, type === 'Q' ? 5 : 6));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return found;
  };
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.indexOf(0, start));
}
