/** A client that sends bytes unchanged, and reads until the service closes. */
import { connect } from 'node:net';
import type { FuzzCase } from './fuzz-case.ts';

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Real milliseconds until a request without a response counts as hanging. */
const PATIENCE_MS = 120_000;

/** Sends the bytes unchanged and reads until the service closes. */
export function sendRaw(url: string, { bytes, cut }: Pick<FuzzCase, 'bytes' | 'cut'>): Promise<readonly RawAnswer[]> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.setTimeout(PATIENCE_MS, () => {
      reject(new Error(`no end after ${PATIENCE_MS} ms; so far: ${Buffer.concat(chunks).toString().slice(0, 200)}`));
      socket.destroy();
    });
    // A service that rejects early may close while the rest is in transit.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      try {
        resolve(answersIn(Buffer.concat(chunks)));
      } catch (error) {
        reject(new Error('these are no answers', { cause: error }));
      }
    });
    socket.write(bytes, () => {
      if (cut) socket.end();
    });
  });
}

function answersIn(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.subarray(0, end).toString();
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    const told = /^content-length: (\d+)$/im.exec(head)?.[1];
    // Without a length the body extends to the end of the connection.
    const length = told === undefined ? rest.length : Number(told);
    const chunked = /^transfer-encoding: chunked$/im.test(head);
    if (end === -1 || Number.isNaN(status) || chunked) throw new Error(`no answer: ${rest.toString().slice(0, 300)}`);
    answers.push({ status, body: rest.subarray(end + 4, end + 4 + length).toString() });
    rest = rest.subarray(end + 4 + length);
  }
  return answers;
}
