/** One exchange: when it counts as sent, and the state after an external end. */
import { once } from 'node:events';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type AddressInfo, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { AnswerMemory } from '#service/answer-memory.ts';
import { sendOnce, ExchangeError, openConnections, type HttpExchange, type HttpAnswer } from '#service/transport.ts';
import { authority } from '../support/certificates.ts';
import { httpSink, type Answer } from '../support/http-sink.ts';
import { onLoopback } from '../support/loopback.ts';
import { until } from '../support/until.ts';
import { failureOf } from './client-under-test.ts';

/** A server and one connection to it, so that a second request waits for the first. */
async function oneConnection(answer: Answer) {
  const sink = await httpSink(answer);
  return { sink, send: await senderTo(sink.url) };
}

async function senderTo(url: string) {
  const memory = new AnswerMemory();
  const connections = await openConnections(url, 1);
  onTestFinished(() => connections[Symbol.dispose]());
  return (
    path: string,
    signal = new AbortController().signal,
    request?: Partial<HttpExchange>,
  ): Promise<HttpAnswer> => {
    const limits = { maxBytes: 1_024, reading: memory.begin(), signal };
    return sendOnce(connections, { method: 'POST', path, headers: {}, ...request }, limits);
  };
}

test('a request that is stopped in the queue is never sent', async () => {
  const held: (() => void)[] = [];
  const { sink, send } = await oneConnection((_request, response) => void held.push(() => response.end('ok')));
  const first = send('/first');
  await until({ what: 'the first is there' }, () => held.length === 1);

  const controller = new AbortController();
  const second = failureOf(send('/second', controller.signal));
  const reason = new Error('stop');
  controller.abort(reason);
  expect(await second).toMatchObject({ sent: false, cause: reason, status: undefined });

  held[0]!();
  expect((await first).body.toString()).toBe('ok');
  const third = send('/third');
  await until({ what: 'the third is there' }, () => held.length === 2);
  held[1]!();
  await third;
  expect(sink.requests.map((request) => request.url)).toEqual(['/first', '/third']);
});

test('a request that is stopped in progress counts as sent, and its connection is closed', async () => {
  let closed = false;
  const { sink, send } = await oneConnection((_request, response) => {
    response.on('close', () => {
      closed = true;
    });
  });
  const controller = new AbortController();
  const work = failureOf(send('/', controller.signal));
  await until({ what: 'the request is there' }, () => sink.requests.length === 1);
  controller.abort(new Error('stop'));
  expect(await work).toMatchObject({ sent: true });
  await until({ what: 'the connection is closed' }, () => closed);
});

test.each(['POST', 'PATCH', 'DELETE'] as const)('a %s has its body and its length', async (method) => {
  const { sink, send } = await oneConnection((_request, response) => void response.end());
  await send('/text', undefined, { method, body: 'café' });
  await send('/bytes', undefined, { method, body: new Uint8Array([1, 2]) });
  await send('/none', undefined, { method });
  expect(sink.requests.map(({ body }) => body.toString())).toEqual(['café', '\u0001\u0002', '']);
  const lengths = sink.requests.map(({ headers }) => headers['content-length']);
  expect(lengths).toEqual(['5', '2', method === 'DELETE' ? undefined : '0']);
  expect(sink.requests.flatMap(({ headers }) => headers['transfer-encoding'] ?? [])).toEqual([]);
});

test('an informational response is not the response', async () => {
  const { send } = await oneConnection((_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => response.destroy());
  });
  const error = await failureOf(send('/'));
  expect(error).toBeInstanceOf(ExchangeError);
  expect(error).toMatchObject({ sent: true, status: undefined });
});

test('a response that declares too much is not awaited', async () => {
  const { send } = await oneConnection((_request, response) => {
    response.writeHead(200, { 'content-length': '4096' });
    response.flushHeaders();
  });
  expect(await failureOf(send('/'))).toMatchObject({ status: 200, bytes: 0, cause: { name: 'AnswerTooLarge' } });
});

test('a request over TLS is sent only to a trusted server', async () => {
  const ours = await authority('ours');
  const requests: string[] = [];
  const server = createHttps(await ours.issue(), (request, response) => {
    requests.push(request.url!);
    response.end('ok');
  });
  const url = (await onLoopback(server)).replace('http:', 'https:');
  const send = await senderTo(url);
  expect(await failureOf(send('/untrusted'))).toMatchObject({ sent: false, cause: { code: expect.any(String) } });

  const trusted = getCACertificates('default');
  onTestFinished(() => setDefaultCACertificates(trusted));
  setDefaultCACertificates([...trusted, ours.cert]);
  expect((await send('/trusted')).body.toString()).toBe('ok');
  expect((await send('/on the same connection'.replaceAll(' ', '-'))).body.toString()).toBe('ok');
  server.removeAllListeners('request').on('request', (_request, response) => void response.destroy());
  expect(await failureOf(send('/reset'))).toMatchObject({ sent: true, cause: { code: 'ECONNRESET' } });
  expect(requests).toEqual(['/trusted', '/on-the-same-connection']);
});

test('a request that is stopped while its connection opens closes that connection', async () => {
  const sockets: Socket[] = [];
  const server = createTcp((socket) => void sockets.push(socket.on('error', () => undefined).resume()));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const send = await senderTo(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const controller = new AbortController();
  const first = failureOf(send('/first', controller.signal));
  await until({ what: 'the handshake began' }, () => sockets.length === 1);
  controller.abort(new Error('stop'));
  expect(await first).toMatchObject({ sent: false });
  await until({ what: 'the connection is closed' }, () => sockets[0]!.readableEnded || sockets[0]!.destroyed);

  const next = new AbortController();
  const second = failureOf(send('/second', next.signal));
  await until({ what: 'another handshake began' }, () => sockets.length === 2);
  next.abort(new Error('stop'));
  await second;
});

test('a response that changes the protocol is an error', async () => {
  const { send } = await oneConnection((_request, response) => {
    response.socket!.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n');
  });
  expect(await failureOf(send('/'))).toMatchObject({ sent: true, status: undefined });
});
