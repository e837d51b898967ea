/** One exchange: when it counts as sent, and the state after an external end. */
import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { AnswerMemory } from '#service/answer-memory.ts';
import { exchange, ExchangeError, type RawAnswer } from '#service/transport.ts';
import { httpSink, type Answer } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import { failureOf } from './client-under-test.ts';

/** A server and one connection to it, so that a second request waits for the first. */
async function oneConnection(answer: Answer) {
  const sink = await httpSink(answer);
  const memory = new AnswerMemory();
  const pool = new Pool(sink.url, { connections: 1, pipelining: 1 });
  onTestFinished(() => pool.destroy());
  const send = (path: string, signal = new AbortController().signal): Promise<RawAnswer> =>
    exchange(pool, { method: 'POST', path, headers: {} }, { maxBytes: 1_024, reading: memory.begin(), signal });
  return { sink, send };
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
