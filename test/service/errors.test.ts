/** Failures on the wire, by class: code, effect, status, and a helpful message without secrets. */
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { RequestUseStore, StoredUse } from '#foundation/domain/request-use.ts';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { InvalidRequestError, ServiceError } from '#service/service-error.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { Answer } from '../support/http-sink.ts';
import { until } from '../support/until.ts';
import {
  call,
  clientUnderTest,
  failureOf,
  json,
  PASSWORD,
  TOKEN,
  type UnderTest,
  PUBLISH,
  TRIGGER,
} from './client-under-test.ts';

const resume = ({ message }: UnderTest): Promise<unknown> => message.resumeWorkflowDlq(['dlq-1'], {}, call);

/** A bare TCP server on a free port; ends with the test. */
async function tcpServer(onSocket: (socket: Socket) => void): Promise<{ port: number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { port: (server.address() as AddressInfo).port, close };
}

async function serviceErrorOf(work: Promise<unknown>): Promise<ServiceError> {
  const error = await failureOf(work);
  expect(error).toBeInstanceOf(ServiceError);
  return error as ServiceError;
}

describe('error responses', () => {
  test.each([
    [400, 'client_error', 'none'],
    [401, 'unauthorized', 'none'],
    [403, 'forbidden', 'none'],
    [404, 'not_found', 'none'],
    [408, 'client_error', 'possible'],
    [412, 'client_error', 'none'],
    [425, 'client_error', 'possible'],
    [429, 'rate_limited', 'none'],
    [499, 'client_error', 'possible'],
    [500, 'server_error', 'possible'],
    [501, 'server_error', 'possible'],
    [503, 'server_error', 'possible'],
    [302, 'redirect', 'possible'],
    [307, 'redirect', 'possible'],
  ] as const)('%d is %s, effect %s', async (status, code, effect) => {
    const elsewhere = await clientUnderTest();
    const client = await clientUnderTest({
      answer: json('{"error":"not today"}', status, { location: `${elsewhere.sink.url}/v2/topics` }),
    });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code, effect, status, operation: 'resume-workflow-dlq' });
    expect(error.message).toContain(`${status}`);
    expect(error.message).toContain('not today');
    expect(error.message).toContain('/v2/workflows/dlq/resume');
    expect(error.message).not.toContain('dlq-1');
    expect(error.message.includes('may have taken effect')).toBe(effect === 'possible');
    expect(client.sink.requests).toHaveLength(1);
    expect(elsewhere.sink.requests).toHaveLength(0);
    expect(client.eventsOf('api.request')).toMatchObject([{ code: status, failure: code }]);
  });

  test.each([
    ['{"error":"a"}', ': a;'],
    ['{"message":"b"}', ': b;'],
    ['"c"', ': c;'],
    ['plain\n\ttext', ': plain text;'],
    ['<html>page</html>', '400;'],
    ['{"error":{"code":1}}', '400;'],
    ['', '400;'],
    ['{"error":', ': {"error":;'],
  ])('the text of %j is reported as %j', async (body, told) => {
    const client = await clientUnderTest({ answer: json(body, 400) });
    expect((await failureOf(resume(client))).message).toContain(`answered 400${told.replace('400', '')}`);
  });

  test('a long text is shortened', async () => {
    const client = await clientUnderTest({ answer: json(JSON.stringify({ error: 'x'.repeat(5_000) }), 400) });
    const { message } = await failureOf(resume(client));
    expect(/x+/.exec(message)?.[0]).toHaveLength(199);
  });
});

describe('unexpected responses', () => {
  const answers: readonly (readonly [string, Answer])[] = [
    ['cut off', json('{"workflowRuns":[{"workflowRunId":"a"')],
    ['a page', json('<!DOCTYPE html><html><body>Sign in</body></html>')],
    ['empty', json('')],
    ['another object', json('{}')],
    ['an error with 200', json('{"error":"no"}')],
    ['another type', json('"OK"')],
    ['a run without id', json('{"workflowRuns":[{"workflowRunId":"a"},{"x":1}]}')],
  ];
  test.each(answers)('%s: malformed, and a write may have taken effect', async (_what, answer) => {
    const client = await clientUnderTest({ answer });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'malformed', effect: 'possible', status: 200 });
    expect(inspect(error)).not.toContain('Sign in');
    expect(client.eventsOf('api.request')).toMatchObject([{ code: 200, failure: 'malformed' }]);
  });

  test.each([
    ['listLogs', ({ message }: UnderTest) => message.listLogs({}, call)],
    ['listWorkflowDlq', ({ message }: UnderTest) => message.listWorkflowDlq({}, call)],
    ['listUrlGroups', ({ message }: UnderTest) => message.listUrlGroups(call)],
    ['getFlowControl', ({ message }: UnderTest) => message.getFlowControl('k', call)],
    ['publish', ({ message }: UnderTest) => message.publish(PUBLISH, call)],
    ['trigger', ({ message }: UnderTest) => message.trigger(TRIGGER, call)],
    ['deleteWorkflowDlq', ({ message }: UnderTest) => message.deleteWorkflowDlq(['a'], call)],
    ['deleteDlq', ({ message }: UnderTest) => message.deleteDlq({ dlqIds: ['a'] }, call)],
    ['updateBudget', ({ management }: UnderTest) => management.updateBudget('a', 20, call)],
    ['getAccountStats', ({ management }: UnderTest) => management.getAccountStats('a', '1h', call)],
    ['getIndex', ({ management }: UnderTest) => management.getIndex('a', call)],
    ['getVectorStats', ({ management }: UnderTest) => management.getVectorStats('a', '1h', call)],
  ])('%s does not accept {} as a response', async (_name, run) => {
    const client = await clientUnderTest({ answer: json('{}') });
    expect(await serviceErrorOf(run(client))).toMatchObject({ code: 'malformed' });
    expect(client.sink.requests).toHaveLength(1);
  });

  test('a body above the limit is not read to its end', async () => {
    const big = 'x'.repeat(4_096);
    const declared = await clientUnderTest({
      answer: json(big, 200, { 'content-length': '4096' }),
      limits: { maxResponseBytes: 2_048 },
    });
    expect(await serviceErrorOf(resume(declared))).toMatchObject({
      code: 'too_large',
      effect: 'possible',
      status: 200,
    });

    let closed = false;
    const endless = await clientUnderTest({
      limits: { maxResponseBytes: 2_048 },
      answer: (_request, response) => {
        const more = (): void => {
          if (!closed) response.write(big, () => setImmediate(more));
        };
        response.on('close', () => {
          closed = true;
        });
        more();
      },
    });
    const error = await serviceErrorOf(endless.message.listUrlGroups(call));
    expect(error).toMatchObject({ code: 'too_large', status: 200 });
    expect(error.message).toContain('maxResponseBytes');
    expect(endless.sink.requests).toHaveLength(1);
    await until({ what: 'the connection is closed' }, () => closed);
  });

  test('a response that is not HTTP', async () => {
    const { port } = await tcpServer((socket) => socket.end(`SSH-2.0 ${TOKEN}\r\n\r\n`));
    const client = await clientUnderTest({ url: `http://127.0.0.1:${port}` });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'malformed', effect: 'possible' });
    expect(inspect(error, { depth: 9 })).not.toContain(TOKEN);
  });
});

test.each(['gzip', 'br'])('a response in %s, for which the request does not ask, is named', async (coding) => {
  const headers = { 'content-encoding': coding };
  const client = await clientUnderTest({ answer: json('\u001f', 200, headers) });
  const error = await serviceErrorOf(resume(client));
  expect(error).toMatchObject({ code: 'malformed', effect: 'possible' });
  expect(error.message).toContain(`the content coding ${coding}`);
  expect(client.sink.requests[0]!.headers['accept-encoding']).toBe('identity');
  client.sink.answerWith(json('\u001f', 400, headers));
  expect((await serviceErrorOf(resume(client))).message).toContain(
    `answered 400: its text has the content coding ${coding}`,
  );
});

describe('no response', () => {
  test('a refused port: connection, provably without effect', async () => {
    const { port, close } = await tcpServer(() => undefined);
    await close();
    const client = await clientUnderTest({ url: `http://127.0.0.1:${port}` });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'connection', effect: 'none' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.message).toContain('was not sent');
    expect(error.status).toBeUndefined();
    expect(client.eventsOf('api.request')).toMatchObject([{ code: 'error', failure: 'connection', bytes: 0 }]);
  });

  test('a name that does not resolve: dns', async () => {
    const client = await clientUnderTest({ url: 'http://service.invalid' });
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'dns', effect: 'none' });
  });

  test('no TLS where it is required: tls', async () => {
    const { sink } = await clientUnderTest();
    const client = await clientUnderTest({ url: sink.url.replace('http:', 'https:') });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'tls', effect: 'none' });
    expect(error.message).toContain('the port does not use TLS');
    expect(error.message).not.toContain('certificate');
  });

  test('a socket that is reset after the request: connection, may have had an effect', async () => {
    const client = await clientUnderTest({ answer: (_request, response) => void response.destroy() });
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'connection', effect: 'possible' });
    expect(client.sink.requests).toHaveLength(1);
  });

  test('a body that ends early: connection, with the status; an error response remains one', async () => {
    const cutOff =
      (status: number): Answer =>
      (_request, response) => {
        response.writeHead(status, { 'content-length': '100' });
        response.write('{"err', () => response.destroy());
      };
    const client = await clientUnderTest({ answer: cutOff(200) });
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'connection', effect: 'possible', status: 200 });
    client.sink.answerWith(cutOff(403));
    expect(await serviceErrorOf(resume(client))).toMatchObject({ effect: 'none', status: 403 });
  });

  test('a write on a kept connection that the service closes at that time is not sent twice', async () => {
    const requests: string[] = [];
    const { port } = await tcpServer((socket) => {
      const number = requests.length;
      socket.on('data', (data) => {
        requests.push(`${number} ${data.toString('latin1').split(' ', 1)[0]}`);
        if (requests.length > 1) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]');
      });
    });
    const client = await clientUnderTest({ url: `http://127.0.0.1:${port}` });
    await client.message.listUrlGroups(call);
    // The connection is free again one turn after its response.
    await new Promise((resolve) => setImmediate(resolve));
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'connection', effect: 'possible' });
    expect(requests).toEqual(['0 GET', '0 POST']);
  });

  test('silence: timeout on the injected clock, may have had an effect', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    const client = await clientUnderTest({ clock, answer: () => undefined });
    const work = serviceErrorOf(resume(client));
    await until({ what: 'the request is there' }, () => client.sink.requests.length === 1);
    await clock.advance(5_000);
    const error = await work;
    expect(error).toMatchObject({ code: 'timeout', effect: 'possible' });
    expect(error.message).toContain('5000 ms');
    expect(client.eventsOf('api.request')).toMatchObject([{ code: 'error', failure: 'timeout', durationMs: 5_000 }]);
  });

  test('a slow body: the deadline applies to the whole response', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20));
    let bytes = 0;
    const client = await clientUnderTest({
      clock,
      answer: (_request, response) => {
        response.write('[', () => {
          bytes += 1;
        });
      },
    });
    const work = serviceErrorOf(resume(client));
    await until({ what: 'the answer has begun' }, () => bytes === 1);
    await clock.advance(5_000);
    expect(await work).toMatchObject({ code: 'timeout', effect: 'possible' });
  });

  describe('while the connection is opening', () => {
    const stalled = async (clock: ManualClock) => {
      let bytes = 0;
      let connections = 0;
      const { port } = await tcpServer((socket) => {
        connections += 1;
        socket.on('data', (data) => {
          bytes += data.length;
        });
      });
      const client = await clientUnderTest({ clock, url: `https://127.0.0.1:${port}` });
      return { client, begun: () => until({ what: 'the handshake began' }, () => connections > 0 && bytes > 0) };
    };

    test('a timeout is provably without effect', async () => {
      const clock = new ManualClock(Date.UTC(2026, 10, 20));
      const { client, begun } = await stalled(clock);
      const work = serviceErrorOf(resume(client));
      await begun();
      await clock.advance(5_000);
      expect(await work).toMatchObject({ code: 'timeout', effect: 'none' });
    });

    test('an abort gives the reason itself', async () => {
      const { client, begun } = await stalled(new ManualClock(Date.UTC(2026, 10, 20)));
      const controller = new AbortController();
      const work = failureOf(client.message.deleteWorkflowDlq(['a'], { signal: controller.signal }));
      await begun();
      const reason = new Error('stop');
      controller.abort(reason);
      expect(await work).toBe(reason);
      expect(client.eventsOf('api.request')).toMatchObject([{ failure: 'aborted' }]);
    });
  });

  test('an abort before the response: aborted, with the reason as cause', async () => {
    const client = await clientUnderTest({ answer: () => undefined });
    const controller = new AbortController();
    const work = serviceErrorOf(client.message.deleteWorkflowDlq(['a'], { signal: controller.signal }));
    await until({ what: 'the request is there' }, () => client.sink.requests.length === 1);
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await work).toMatchObject({ code: 'aborted', effect: 'possible', cause: reason });
  });

  test('an abort before the request: the reason, no request, nothing counted', async () => {
    const client = await clientUnderTest();
    const reason = new Error('stop');
    const signal = AbortSignal.abort(reason);
    expect(await failureOf(client.message.listUrlGroups({ signal }))).toBe(reason);
    expect(client.events).toEqual([]);
    expect(client.usage('message').usedToday).toBe(0);
  });
});

describe('the client itself', () => {
  test('closing waits for the request in progress, twice is once, and later calls are rejected', async () => {
    let finish: (() => void) | undefined;
    const client = await clientUnderTest({
      answer: (_request, response) => {
        finish = () => void response.end('{"deleted":1}');
      },
    });
    const work = client.message.deleteWorkflowDlq(['a'], call);
    await until({ what: 'the request is there' }, () => client.sink.requests.length === 1);
    const closed = Promise.all([client.close(), client.close()]);
    finish!();
    expect(await work).toEqual({ deleted: 1 });
    await closed;
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'aborted', effect: 'none' });
    expect(client.sink.requests).toHaveLength(1);
  });

  test('the lease: no request starts that may outlast it, and a retry asks again', async () => {
    const asked: number[] = [];
    let reason: string | undefined;
    const client = await clientUnderTest({
      limits: { timeout: 7_000 },
      answer(_request, response) {
        reason = 'the lease on account production ends too soon';
        response.writeHead(503).end();
      },
      mayStart(timeoutMs) {
        asked.push(timeoutMs);
        return reason;
      },
    });
    const refused = { code: 'lease', effect: 'none' };
    // The first request starts, and its retry does not.
    expect(await serviceErrorOf(client.message.listUrlGroups(call))).toMatchObject(refused);
    expect(asked).toEqual([7_000, 7_000]);
    for (const request of [
      client.message.listUrlGroups(call),
      resume(client),
      client.management.getAccountStats('a', '1d', call),
    ]) {
      const error = await serviceErrorOf(request);
      expect(error).toMatchObject(refused);
      expect(error.message).toContain('the lease on account production ends too soon; the request was not sent');
    }
    expect(client.sink.requests).toHaveLength(1);
    expect(client.eventsOf('api.request')).toHaveLength(1);
  });

  test('the daily budget: rejected without a request, until the next UTC day', async () => {
    const clock = new ManualClock(Date.UTC(2026, 10, 20, 23, 59));
    const client = await clientUnderTest({
      clock,
      limits: { requestsPerDay: 2, requestsPerSecond: 2 },
      answer: json('{"deleted":0}'),
    });
    await client.message.deleteWorkflowDlq(['a'], call);
    await client.message.deleteWorkflowDlq(['a'], call);
    expect(client.usage('message')).toEqual({ usedToday: 2, allowedPerDay: 2 });
    // No token is left either: a request that must not be sent does not queue.
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'budget', effect: 'none', retryAfterMs: 60_000 });
    expect(error.message).toContain('requestsPerDay');
    expect(client.usage('management').usedToday).toBe(0);
    await clock.advance(60_000);
    await client.message.deleteWorkflowDlq(['a'], call);
    clock.jump(-120_000);
    expect(client.usage('message').usedToday).toBe(1);
    expect(client.sink.requests).toHaveLength(3);
  });

  test('the daily budget, stored: the next client continues the count, each API with its own', async () => {
    const rows = new Map<string, StoredUse>();
    const requestUse: RequestUseStore = {
      load: async () => [...rows.values()],
      save: async (use) => void rows.set(`${use.account}/${use.api}`, use),
    };
    const options = { limits: { requestsPerDay: 2 }, answer: json('{"deleted":0}'), requestUse };
    const first = await clientUnderTest(options);
    await first.message.deleteWorkflowDlq(['a'], call);
    await first.close();
    const second = await clientUnderTest(options);
    await second.message.deleteWorkflowDlq(['a'], call);
    expect(await serviceErrorOf(resume(second))).toMatchObject({ code: 'budget' });
    expect(second.sink.requests).toHaveLength(1);
    expect([...rows.keys()]).toEqual(['production/message']);
  });

  test('the daily budget, stored in a store that fails: reported, and no request is delayed by it', async () => {
    const client = await clientUnderTest({
      limits: { requestsPerDay: 2 },
      answer: json('{"deleted":0}'),
      requestUse: { load: async () => [], save: () => Promise.reject(new Error('disk full')) },
    });
    await client.message.deleteWorkflowDlq(['a'], call);
    await client.message.deleteWorkflowDlq(['a'], call);
    expect(await serviceErrorOf(resume(client))).toMatchObject({ code: 'budget' });
    const told = client.eventsOf('store.failed').map(({ operation, message }) => `${operation}: ${message}`);
    expect(told).toContain('save of the daily count of requests: disk full');
  });

  test.each(['closed', 'aborted'] as const)(
    'a client or call that is %s while the count is stored sends nothing',
    async (what) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const save = async (): Promise<void> => {
        begin();
        await promise;
      };
      const client = await clientUnderTest({
        answer: json('{"deleted":0}'),
        requestUse: { load: async () => [], save },
      });
      const controller = new AbortController();
      const sent = client.message.deleteWorkflowDlq(['a'], { signal: controller.signal });
      sent.catch(() => undefined);
      await begun;
      const closed = what === 'closed' ? client.close() : controller.abort(new Error('aborted'));
      resolve();
      await expect(sent).rejects.toThrow(what);
      await closed;
      expect(client.sink.requests).toEqual([]);
    },
  );

  test('the daily budget with an unreadable count: unknown is not 0, so there is no client', async () => {
    const requestUse = {
      load: () => Promise.reject(new Error('disk I/O error')),
      save: async () => undefined,
    };
    await expect(clientUnderTest({ requestUse })).rejects.toThrow('disk I/O error');
  });

  test.each([
    ['empty', Secret.of('')],
    ['with a line break', Secret.of(`${TOKEN}\r\nX: y`)],
    ['in a file that is gone', Secret.fromFile('/nowhere/token')],
  ])('a token %s: unauthorized, nothing sent', async (_what, token) => {
    const client = await clientUnderTest({ token });
    const error = await serviceErrorOf(resume(client));
    expect(error).toMatchObject({ code: 'unauthorized', effect: 'none' });
    expect(inspect(error)).not.toContain(TOKEN);
    expect(client.sink.requests).toHaveLength(0);
    expect(client.usage('message').usedToday).toBe(0);
  });
});

describe('a canary never comes out', () => {
  const canaries = [TOKEN, PASSWORD, 'canary-body', 'canary-forwarded', 'canary-query', 'canary-user'];
  const basic = Buffer.from(`owner@example.com:${PASSWORD}`).toString('base64');

  test('of a service that repeats the whole request in its error', async () => {
    const client = await clientUnderTest({
      answer: (request, response) => {
        response.statusCode = 400;
        const headers = Object.values(request.headers).join(' ');
        response.end(JSON.stringify({ error: `${headers} ${request.url} ${request.body.toString()}` }));
      },
    });
    const { message, management, send } = client;
    const request = {
      body: 'canary-body',
      retries: 0,
      label: ['a'],
      forward: { Authorization: 'canary-forwarded' },
    } as const;
    const callback = { callback: 'http://c/', callbackForward: { Authorization: 'canary-forwarded' } };
    const url = 'http://u:canary-user@a.example.com/p?x=canary-query';
    const errors = [
      await failureOf(message.publish({ destination: url, ...request, ...callback }, call)),
      await failureOf(message.trigger({ workflowUrl: url, ...request }, call)),
      await failureOf(message.listUrlGroups(call)),
      await failureOf(management.getIndex('i', call)),
      await failureOf(send('rotate-token', { id: 'i' })),
    ];
    for (const error of errors) expect(error).toBeInstanceOf(ServiceError);
    const told = errors.map((error) => `${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).join('\n');
    for (const canary of [...canaries, basic]) expect(told).not.toContain(canary);
    expect(told).toContain('[secret]');
    expect(told).toContain('a.example.com');
    expect(JSON.stringify(client.events)).not.toContain('canary');
  });

  test('of rejected arguments', async () => {
    const { message } = await clientUnderTest();
    const refused = [
      message.publish({ ...PUBLISH, destination: 'http://a/canary query' }, call),
      message.publish({ ...PUBLISH, destination: 'canary\nname' }, call),
      message.publish({ ...PUBLISH, forward: { A: 'canary\r\nB: c' } }, call),
      message.listLogs({ label: ['canary,x'] }, call),
    ];
    for (const work of refused) {
      const error = await failureOf(work);
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error.message).not.toContain('canary');
    }
  });

  test('of dropped rows', async () => {
    const client = await clientUnderTest({
      answer: json('{"messages":[{"dlqId":"canary","createdAt":"canary"}]}'),
    });
    const page = await client.message.listWorkflowDlq({}, call);
    expect(page).toMatchObject({ value: [], dropped: 1 });
    expect(client.eventsOf('api.invalid_rows')).toEqual([
      {
        type: 'api.invalid_rows',
        account: 'production',
        operation: 'list-workflow-dlq',
        count: 1,
        values: 0,
        example: 'messages[0].workflowRunId: missing',
      },
    ]);
  });
});
