/** TCP link between a replica and a server. A test cuts it, silences it, or holds single pieces of its data. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Piece of data that waits for its gate. */
export interface Piece {
  readonly bytes: Buffer;
  readonly from: 'client' | 'server';
  /** Identity of the connection. */
  readonly connection: object;
}

/** Decides on a piece. A promise holds the connection in this direction. `drop` breaks the connection. */
export type Gate = (piece: Piece) => undefined | Promise<'pass' | 'drop'>;

export class Link {
  readonly port: number;
  readonly #target: number;
  readonly #gate: Gate;
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  #silence: PromiseWithResolvers<void> | undefined;

  private constructor(port: number, target: number, gate: Gate) {
    this.port = port;
    this.#target = target;
    this.#gate = gate;
  }

  /** Opens a link on a free port of loopback to another port. It ends with the test. */
  static async open(target: number, gate: Gate = () => undefined): Promise<Link> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const link = new Link((server.address() as AddressInfo).port, target, gate);
    server.on('connection', (client) => link.#accept(client));
    onTestFinished(() => {
      link.cut();
      server.close();
    });
    return link;
  }

  /** Breaks all connections, and every new one. */
  cut(): void {
    this.#isCut = true;
    this.#silence?.resolve();
    this.#silence = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Holds all data in both directions, and the ends of connections. */
  silence(): void {
    this.#silence ??= Promise.withResolvers();
  }

  /** Lets new connections pass, and delivers what silence has held. */
  heal(): void {
    this.#isCut = false;
    this.#silence?.resolve();
    this.#silence = undefined;
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isCut) return void client.destroy();
    const server = connect(this.#target, '127.0.0.1');
    this.#pump('client', client, server);
    this.#pump('server', server, client);
  }

  #pump(side: Piece['from'], from: Socket, to: Socket): void {
    const connection = side === 'client' ? from : to;
    let turn: Promise<unknown> = Promise.resolve();
    this.#sockets.add(from);
    from.on('error', () => undefined);
    from.on('data', (bytes: Buffer) => {
      turn = turn.then(async () => {
        const fate = this.#gate({ bytes, from: side, connection });
        if (fate !== undefined && (await fate) === 'drop') return from.destroy();
        if (this.#silence !== undefined) await this.#silence.promise;
        return to.write(bytes);
      });
    });
    from.on('close', () => {
      this.#sockets.delete(from);
      // The other side learns of the end after the data before it.
      void turn.then(() => this.#silence?.promise).then(() => to.end(() => to.destroy()));
    });
  }
}
