/** Connection of a client to the simulated PostgreSQL: its messages, in batches that each get one ReadyForQuery. */
import type { Socket } from 'node:net';
import { message } from './session.ts';

const PROTOCOL_3 = 196_608;

export interface Batch {
  readonly bytes: Buffer;
  /** Text of a simple query; empty for others. */
  readonly text: string;
}

export class Connection {
  readonly pid: number;
  readonly socket: Socket;
  readonly batches: Batch[] = [];
  /** `application_name`; undefined until the start. */
  name: string | undefined;
  /** True in a transaction. */
  isOpen = false;
  isListening = false;
  /** True in a transaction that only reads. */
  isReading = false;
  /** True if a statement of this transaction has failed. */
  isFailed = false;
  /** Accounts that this transaction is about. */
  accounts: readonly string[] = [];
  readonly #unsent: Uint8Array[] = [];
  /** True if nothing arrives any more, in both directions. */
  isCut = false;
  #bytes = Buffer.alloc(0);
  #isOfViews = false;

  constructor(pid: number, socket: Socket) {
    this.pid = pid;
    this.socket = socket;
  }

  /** Name of the replica, which is the third word of the connection's. */
  get replica(): string {
    return this.name?.split(' ')[2] ?? '';
  }

  /** Takes bytes of the client. @returns `start` for the startup message, `end` if the client ends the connection */
  add(bytes: Buffer): 'start' | 'end' | undefined {
    if (this.isCut) return undefined;
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const isStart = this.name === undefined && this.#start();
    if (this.name === undefined) return undefined;
    for (let at = 0; at + 5 <= this.#bytes.length;) {
      const type = String.fromCharCode(this.#bytes[at]!);
      if (type === 'X') return 'end';
      at += 1 + this.#bytes.readInt32BE(at + 1);
      if (at > this.#bytes.length || (type !== 'S' && type !== 'Q')) continue;
      const batch = this.#bytes.subarray(0, at);
      this.#isOfViews = !batch.includes('BEGIN') && (this.#isOfViews || batch.includes('INTO views'));
      this.batches.push({ bytes: batch, text: type === 'Q' ? batch.toString('utf8', 5, at - 1) : '' });
      this.#bytes = this.#bytes.subarray(at);
      at = 0;
    }
    return isStart ? 'start' : undefined;
  }

  /** Returns true for the commit of a change, other than one of copied views, which are the most. */
  commits({ text }: Batch): boolean {
    return text === 'COMMIT' && !this.isReading && !this.#isOfViews;
  }

  /** Keeps bytes until `flush`. */
  send(bytes: Uint8Array): void {
    this.#unsent.push(bytes);
  }

  flush(): void {
    const bytes = Buffer.concat(this.#unsent.splice(0));
    if (bytes.length > 0 && !this.isCut && !this.socket.destroyed) this.socket.write(bytes);
  }

  /** Reports an error that ends the connection. */
  end(code: string, text: string): void {
    this.send(errorOf('FATAL', code, text));
    this.flush();
    if (!this.isCut) this.socket.end();
  }

  #start(): boolean {
    if (this.#bytes.length < 8) return false;
    const length = this.#bytes.readInt32BE(0);
    if (this.#bytes.length < length) return false;
    if (this.#bytes.readInt32BE(4) !== PROTOCOL_3) throw new Error('the client does not begin with protocol 3');
    const text = `\0${this.#bytes.toString('utf8', 8, length)}`;
    this.name = /\0application_name\0([^\0]*)\0/.exec(text)?.[1] ?? '';
    this.#bytes = this.#bytes.subarray(length);
    return true;
  }
}

export function errorOf(severity: 'ERROR' | 'FATAL', code: string, text: string): Buffer {
  return message('E', `S${severity}\0V${severity}\0C${code}\0M${text}\0\0`);
}
