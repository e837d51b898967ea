/** Receiver of the daemon's notifications. It fails at times. */
import { createServer } from './fakes/http.ts';
import { Process, runAs, type Loop } from './loop.ts';

interface Received {
  readonly id: string;
  readonly key: string;
  readonly status: 'firing' | 'resolved';
}

export class Receiver {
  /** Last status of each condition, as the receiver knows it. */
  readonly last = new Map<string, Received['status']>();
  url = '';
  readonly #loop: Loop;
  readonly #known = new Set<string>();
  #failsUntil = 0;

  private constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Rejects everything for a time. */
  fail(ms: number): void {
    this.#failsUntil = this.#loop.time + ms;
  }

  #isDown(): boolean {
    const { faults, time } = this.#loop;
    return faults.strikes('receiver down', 0.1) || (faults.active && time < this.#failsUntil);
  }

  static async start(loop: Loop): Promise<Receiver> {
    const receiver = new Receiver(loop);
    await runAs(new Process('receiver'), async () => {
      const server = createServer({}, (request, response) => {
        let text = '';
        request.on('data', (chunk: Buffer) => (text += chunk.toString()));
        request.on('end', () => {
          response.sendDate = false;
          if (receiver.#isDown()) {
            response.writeHead(503).end();
            return;
          }
          const { id, key, status } = JSON.parse(text) as Received;
          // A request that its sender has given up can arrive after the repeat, and after later ones.
          if (!receiver.#known.has(id)) receiver.last.set(key, status);
          receiver.#known.add(id);
          response.writeHead(200).end();
        });
      });
      await new Promise<void>((resolve) => {
        server.once('listening', resolve);
        server.listen({ port: 9_000 });
      });
    });
    receiver.url = 'http://127.0.0.1:9000';
    return receiver;
  }
}
