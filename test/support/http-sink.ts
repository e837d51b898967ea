/** A real HTTP server on a free loopback port that records its requests and responds as configured. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { onLoopback } from './loopback.ts';

export interface SunkRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Answer = (request: SunkRequest, response: ServerResponse) => void | Promise<void>;

export interface HttpSink {
  /** Address, `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly requests: SunkRequest[];
  /** Sets the response to further requests; default 200 and an empty body. */
  answerWith(answer: Answer): void;
}

/** Starts a server that ends with the test. */
export async function httpSink(answer: Answer = (_request, response) => void response.end()): Promise<HttpSink> {
  let current = answer;
  const requests: SunkRequest[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const request = {
        method: message.method ?? '',
        url: message.url ?? '',
        headers: message.headers,
        body: Buffer.concat(chunks),
      };
      requests.push(request);
      void current(request, response);
    });
  });
  return {
    url: await onLoopback(server),
    requests,
    answerWith: (next) => {
      current = next;
    },
  };
}
