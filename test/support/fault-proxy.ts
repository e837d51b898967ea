/**
 * A proxy between the daemon and the service. It can hold or lose a request, or its response after the service has
 * acted.
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { onLoopback } from './loopback.ts';

export interface Passed {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
}

/** Handling of a response of the service. */
type Fate =
  | 'pass'
  | 'lose' // the connection is reset
  | Promise<unknown>; // it is held until then

export interface FaultProxy {
  readonly url: string;
  /** Requests that reached the service, in order. */
  readonly passed: Passed[];
  /** Sets the handling of responses to further requests. */
  decide(fate: (request: Passed) => Fate): void;
  /** Sets a check of further requests. A request with the result false never reaches the service. */
  admit(gate: (request: Passed) => Promise<boolean>): void;
}

export async function faultProxy(target: string): Promise<FaultProxy> {
  const passed: Passed[] = [];
  let fateOf: (request: Passed) => Fate = () => 'pass';
  let gate: ((request: Passed) => Promise<boolean>) | undefined;
  const server = createServer((message, response) => void arrive(message, response));

  async function arrive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const about = { method: message.method ?? '', url: message.url ?? '' };
    if (gate === undefined || (await gate(about))) forward(message, response);
    else response.destroy();
  }

  function forward(message: IncomingMessage, response: ServerResponse): void {
    const about = { method: message.method ?? '', url: message.url ?? '' };
    const onward = httpRequest(
      `${target}${about.url}`,
      { method: about.method, headers: message.headers },
      (answer) => {
        passed.push(about);
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          void deliver(fateOf(about), response, () => {
            response.writeHead(answer.statusCode ?? 502, answer.headers);
            response.end(Buffer.concat(chunks));
          });
        });
      },
    );
    onward.on('error', () => response.destroy());
    message.pipe(onward);
  }

  return {
    url: await onLoopback(server),
    passed,
    decide: (fate) => {
      fateOf = fate;
    },
    admit: (asked) => {
      gate = asked;
    },
  };
}

async function deliver(fate: Fate, response: ServerResponse, send: () => void): Promise<void> {
  if (fate === 'lose') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (fate !== 'pass') await fate;
  if (!response.destroyed) send();
}
