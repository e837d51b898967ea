/** Publishing as the caller sees it: results, errors, groups, de-duplication, callbacks, redaction. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { httpSink } from '../../../test/support/http-sink.ts';
import { ACCOUNT, allLogs, START, world, type World, worldWithSink } from '../world.ts';

interface Result {
  readonly messageId: string;
  readonly deduplicated: boolean;
  readonly url?: string;
}

describe('header values are UTF-8', () => {
  /** Returns the value as Node sends it: one character for each byte. */
  const wire = (text: string): string => Buffer.from(text).toString('latin1');
  const text = (value: unknown): string => Buffer.from(String(value), 'latin1').toString();

  test('labels, keys, ids, and forwarded headers', async () => {
    const sink = await httpSink((_request, response) => void response.setHeader('X-Ort', wire('Köln')).end());
    const service = await world();
    const headers = {
      'Svc-Label': wire('Rückläufer à, 返金'),
      'Svc-Flow-Control-Key': wire('zürich'),
      'Svc-Flow-Control-Value': 'parallelism=1',
      'Svc-Forward-X-Name': wire('Jürgen'),
      'Svc-Callback': `${sink.url}/callback`,
      'Svc-Callback-Forward-X-Grund': wire('Mahnung für €'),
      'Svc-Redact-Fields': 'header[X-Name]',
    };
    const { status } = await service.call('POST', `/v2/publish/${sink.url}/`, { headers });
    expect(status).toBe(200);
    await service.drain();

    for (const label of ['Rückläufer à', '返金']) {
      const [entry] = await allLogs(service, `label=${encodeURIComponent(label)}`);
      expect(entry, label).toMatchObject({
        labels: ['Rückläufer à', '返金'],
        header: {
          'X-Name': [`REDACTED:${createHash('sha256').update('Jürgen').digest('hex')}`],
          'Svc-Flow-Control-Key': ['zürich'],
        },
        callbackHeaders: { 'X-Grund': ['Mahnung für €'] },
        responseHeaders: { 'X-Ort': ['Köln'] },
      });
    }
    const { json } = await service.call('GET', `/v2/flowControl/${encodeURIComponent('zürich')}`);
    expect(json).toMatchObject({ flowControlKey: 'zürich', parallelismMax: 1 });
    const [delivered, callback] = sink.requests;
    expect(text(delivered!.headers['x-name'])).toBe('Jürgen');
    expect(text(callback!.headers['x-grund'])).toBe('Mahnung für €');
    expect(JSON.parse(callback!.body.toString())).toMatchObject({
      header: { 'X-Ort': ['Köln'] },
      sourceHeader: { 'X-Name': 'Jürgen' },
    });
  });

  test('a run id reaches the workflow', async () => {
    const { sink, service } = await worldWithSink();
    const headers = { 'Svc-Workflow-RunId': wire('Überweisung-1') };
    const { json } = await service.call('POST', `/v2/trigger/${sink.url}/`, { headers });
    expect(json).toMatchObject({ workflowRunId: 'Überweisung-1' });
    await service.drain();
    expect(text(sink.requests[0]!.headers['svc-workflow-runid'])).toBe('Überweisung-1');
  });

  test('other bytes are Latin-1, and are forwarded unchanged', async () => {
    const { sink, service } = await worldWithSink();
    const headers = { 'Svc-Label': 'R\u00fcckl\u00e4ufer', 'Svc-Forward-X-Name': 'J\u00fcrgen' };
    await service.call('POST', `/v2/publish/${sink.url}/`, { headers });
    await service.drain();
    expect((await allLogs(service))[0]).toMatchObject({ labels: ['Rückläufer'], header: { 'X-Name': ['Jürgen'] } });
    expect(sink.requests[0]!.headers['x-name']).toBe('J\u00fcrgen');
  });
});

test.each(['True', 'TRUE', 'true'])('%s is true', async (value) => {
  const service = await world();
  const headers = { 'Svc-Content-Based-Deduplication': value, 'Svc-Delay': '1h' };
  const publish = () => service.call<Result>('POST', '/v2/publish/http://a.example/', { headers, body: 'same' });
  expect([(await publish()).json.deduplicated, (await publish()).json.deduplicated]).toEqual([false, true]);
});

describe('refusals', () => {
  test.each([
    ['Retries', '-1', /whole number/],
    ['Retries', 'many', /whole number/],
    ['Method', 'HEAD', /one of GET/],
    ['Method', 'post', /one of GET/],
    ['Timeout', '0s', /longer than 0/],
    ['Timeout', '10 minutes', /duration/],
    ['Delay', '5x', /duration/],
    ['Delay', '99999999d', /duration/],
    ['Not-Before', '1795168800000', /looks like milliseconds/],
    ['Retry-Delay', 'pow(2)', /Svc-Retry-Delay is invalid: the expression pow takes 2/],
    ['Flow-Control-Key', 'k', /needs Svc-Flow-Control-Value/],
    ['Flow-Control-Value', 'parallelism=1', /needs Svc-Flow-Control-Key/],
    ['Content-Based-Deduplication', 'yes', /true or false/],
    ['Callback', 'ftp://x/', /begins with http/],
    ['Callback-Retries', '1', /needs Svc-Callback/],
    ['Failure-Callback-Forward-X', '1', /needs Svc-Failure-Callback/],
    ['Redact-Fields', 'body,url', /takes body/],
    ['Redact-Fields', 'header[X Secret]', /takes body/],
    ['Redact-Fields', 'header[ ]', /takes body/],
    ['Redact-Fields', 'Body', /takes body/],
    ['Forward-Content-Length', '3', /cannot be forwarded/],
    ['Forward-Proxy-Authorization', 'x', /Proxy-Authorization cannot be forwarded/],
    ['Forward-Svc-Signature', 'x', /Svc-Signature cannot be forwarded/],
    ['Forward-Svc-Message-Id', 'x', /Svc-Message-Id cannot be forwarded/],
    ['Forward-Svc-Workflow-Failure', 'true', /Svc-Workflow-Failure cannot be forwarded/],
  ])('Svc-%s: %s', async (name, value, error) => {
    const service = await world();
    const answer = await service.call('POST', '/v2/publish/http://a.example/', { headers: { [`Svc-${name}`]: value } });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({ error: expect.stringMatching(error) });
    expect(service.emulator.messages(ACCOUNT)).toEqual([]);
  });

  test.each([
    'parallelism=0',
    'parallelism=x',
    'rate=1, rate=2',
    'period=5',
    'parallelism=1, period=5',
    'speed=1',
    'rate=1, period=0',
    'rate=1, period=1x',
  ])('a flow-control value of %s', async (value) => {
    const service = await world();
    const headers = { 'Svc-Flow-Control-Key': 'k', 'Svc-Flow-Control-Value': value };
    const answer = await service.call('POST', '/v2/publish/http://a.example/', { headers });
    expect([answer.status, answer.json]).toEqual([400, { error: expect.any(String) }]);
  });

  test.each([
    ['publish', 'Svc-Cron'],
    ['trigger', 'Svc-Deduplication-Id'],
    ['trigger', 'Svc-Callback'],
    ['publish', 'Svc-Telemetry-Sdk'],
    ['publish', 'Svc-Telemetry-Runtime'],
  ])('%s: %s is not a header of the operation and is ignored', async (operation, header) => {
    const { sink, service } = await worldWithSink();
    const answer = await service.call('POST', `/v2/${operation}/${sink.url}/`, { headers: { [header]: 'x' } });
    expect(answer.status).toBe(200);
    await service.emulator.idle();
    expect(sink.requests.map(({ headers }) => headers[header.toLowerCase()])).toEqual([undefined]);
  });

  test.each([
    ['publish', '', 400],
    ['publish', 'nowhere', 404],
    ['publish', 'http://', 400],
    ['publish', 'http://user:pass@a.example/', 400],
    ['publish', 'ftp://a.example/', 400],
    ['trigger', 'group', 400],
    ['trigger', 'https://', 400],
  ])('%s to "%s" answers %d', async (operation, destination, status) => {
    const service = await world();
    expect((await service.call('POST', `/v2/${operation}/${destination}`)).status).toBe(status);
  });
});

test('another header prefix is another header', async () => {
  const sink = await httpSink();
  const service = await world({ headerPrefix: 'Acme' });
  const headers = { 'acme-forward-x': 'y', 'Svc-Forward-Z': 'z' };
  expect((await service.call('POST', `/v2/publish/${sink.url}/`, { headers })).status).toBe(200);
  await service.emulator.idle();
  expect(sink.requests[0]!.headers).toMatchObject({ x: 'y', 'acme-retried': '0' });
  expect(sink.requests[0]!.headers).not.toHaveProperty('z');
});

test('a destination may be percent-encoded as a whole', async () => {
  const { sink, service } = await worldWithSink();
  await service.call('POST', `/v2/publish/${encodeURIComponent(`${sink.url}/a?b=c&d=%20`)}`);
  await service.emulator.idle();
  expect(sink.requests.map((request) => request.url)).toEqual(['/a?b=c&d=%20']);
});

describe('URL Groups', () => {
  const addEndpoints = (service: World, group: string, endpoints: unknown) =>
    service.call('POST', `/v2/topics/${group}/endpoints`, { body: JSON.stringify({ endpoints }) });

  test('are made by adding endpoints; a name or else a URL identifies an endpoint', async () => {
    const service = await world();
    expect(
      (await addEndpoints(service, 'orders', [{ name: 'a', url: 'http://a.example/' }, { url: 'http://b.example/' }]))
        .status,
    ).toBe(200);
    await service.clock.advance(5_000);
    await addEndpoints(service, 'orders', [
      { name: 'a', url: 'http://a2.example/' },
      { name: 'b', url: 'http://b.example/' },
    ]);
    expect((await service.call('GET', '/v2/topics')).json).toEqual([
      {
        name: 'orders',
        createdAt: START,
        updatedAt: START + 5_000,
        endpoints: [
          { name: 'a', url: 'http://a2.example/' },
          { name: 'b', url: 'http://b.example/' },
        ],
      },
    ]);
  });

  test.each([
    ['x y', [{ url: 'http://a.example/' }]],
    ['g', []],
    ['g', [{ name: 'a' }]],
    ['g', [{ url: 'a.example' }]],
    ['g', [{ url: 'http://a.example/', name: 3 }]],
    ['g', 'http://a.example/'],
  ])('rejected: %s %j', async (group, endpoints) => {
    const service = await world();
    expect((await addEndpoints(service, encodeURIComponent(group), endpoints)).status).toBe(400);
    expect((await service.call('GET', '/v2/topics')).json).toEqual([]);
  });

  test.each(['array', 'object'] as const)(
    'a publish makes a message for each endpoint and answers an %s',
    async (form) => {
      const sink = await httpSink();
      const service = await world({ switches: { groupPublish: form } });
      await addEndpoints(service, 'orders', [{ name: 'a', url: `${sink.url}/a` }, { url: `${sink.url}/b` }]);
      const publish = () =>
        service.call<Result[] & { messages: Result[] }>('POST', '/v2/publish/orders', {
          headers: { 'Svc-Deduplication-Id': 'd' },
          body: 'x',
        });
      const first = (await publish()).json;
      const results = form === 'array' ? first : first.messages;
      expect(results.map((result) => result.url)).toEqual([`${sink.url}/a`, `${sink.url}/b`]);
      await service.emulator.idle();
      expect(sink.requests.map((request) => request.url).toSorted()).toEqual(['/a', '/b']);
      const logged = (await allLogs(service, 'topicName=orders&state=DELIVERED')) as readonly {
        endpointName?: string;
      }[];
      expect(new Set(logged.map((entry) => entry.endpointName))).toEqual(new Set(['a', undefined]));
      const again = (await publish()).json;
      expect(form === 'array' ? again : again.messages).toEqual(
        results.map((result) => ({ ...result, deduplicated: true })),
      );
    },
  );
});

describe('de-duplication', () => {
  test('by id within ten minutes', async () => {
    const sink = await httpSink();
    const service = await world({ switches: { duplicateStatus: 202 } });
    const publish = (body: string) =>
      service.call<Result>('POST', `/v2/publish/${sink.url}/`, { headers: { 'Svc-Deduplication-Id': 'd' }, body });
    const first = await publish('a');
    await service.clock.advance(599_999);
    const second = await publish('b');
    expect([second.status, second.json]).toEqual([202, { messageId: first.json.messageId, deduplicated: true }]);
    await service.clock.advance(1);
    expect((await publish('c')).json.deduplicated).toBe(false);
    await service.emulator.idle();
    expect(sink.requests.map((request) => request.body.toString())).toEqual(['a', 'c']);
  });

  test('by content', async () => {
    const service = await world();
    const publish = (body: string, value: string) =>
      service.call<Result>('POST', '/v2/publish/http://a.example/', {
        headers: { 'Svc-Content-Based-Deduplication': value, 'Svc-Delay': '1h' },
        body,
      });
    const results = [
      await publish('a', 'true'),
      await publish('b', 'true'),
      await publish('a', 'true'),
      await publish('a', 'false'),
    ];
    expect(results.map((result) => result.json.deduplicated)).toEqual([false, false, true, false]);
  });
});

test('headers that another service would read as its own can be forwarded', async () => {
  const { sink, service } = await worldWithSink();
  await service.call('POST', `/v2/publish/${sink.url}/`, { headers: { 'Svc-Forward-Svc-Retries': '7' } });
  await service.emulator.idle();
  expect(sink.requests[0]!.headers).toMatchObject({ 'svc-retries': '7', 'svc-retried': '0' });
});

test("a callback's own content type reaches its receiver, and its headers are redacted as the message's", async () => {
  const { sink, service } = await worldWithSink();
  const headers = {
    'Svc-Redact-Fields': 'header[Secret]',
    'Svc-Callback': `${sink.url}/cb`,
    'Svc-Callback-Forward-Content-Type': 'application/x-callback',
    'Svc-Callback-Forward-Secret': 'abc',
  };
  await service.call('POST', `/v2/publish/${sink.url}/`, { headers, body: 'x' });
  await service.drain();
  expect(sink.requests[1]!.headers).toMatchObject({ 'content-type': 'application/x-callback', secret: 'abc' });
  const { json } = await service.call('GET', '/v2/logs');
  expect(JSON.stringify(json)).not.toContain('"abc"');
});

describe('callbacks', () => {
  test('report each attempt, and the final failure, with the body of the interface', async () => {
    const destination = await httpSink(
      (_request, response) => void response.writeHead(500, { 'X-Why': 'no' }).end('broken'),
    );
    const receiver = await httpSink();
    const service = await world();
    const { json } = await service.call<Result>('POST', `/v2/publish/${destination.url}/x`, {
      headers: {
        'Svc-Retries': '1',
        'Svc-Retry-Delay': '1000',
        'Svc-Method': 'PUT',
        'Svc-Forward-Order': '17',
        'Svc-Callback': `${receiver.url}/each`,
        'Svc-Callback-Forward-Authorization': 'Bearer back',
        'Svc-Callback-Method': 'PATCH',
        'Svc-Failure-Callback': `${receiver.url}/failed`,
        'Svc-Failure-Callback-Delay': '1m',
      },
      body: 'hello',
    });
    await service.drain();
    expect(receiver.requests.map(({ method, url }) => [method, url])).toEqual([
      ['PATCH', '/each'],
      ['PATCH', '/each'],
      ['POST', '/failed'],
    ]);
    expect(receiver.requests[0]!.headers).toMatchObject({
      authorization: 'Bearer back',
      'content-type': 'application/json',
    });
    const [first, second, failed] = receiver.requests.map(
      (request) => JSON.parse(request.body.toString()) as Record<string, unknown>,
    );
    const common = {
      status: 500,
      header: expect.objectContaining({ 'X-Why': ['no'] }),
      body: btoa('broken'),
      maxRetries: 1,
      sourceMessageId: json.messageId,
      url: `${destination.url}/x`,
      method: 'PUT',
      sourceHeader: { Order: '17' },
      sourceBody: btoa('hello'),
      notBefore: String(START),
      createdAt: String(START),
      callerIP: '127.0.0.1',
    };
    expect(first).toEqual({ ...common, retried: 0 });
    expect(second).toEqual({ ...common, retried: 1 });
    const [message] = service.emulator.messages(ACCOUNT);
    expect(failed).toEqual({ ...common, retried: 1, dlqId: message!.dlqId });
    // Callbacks are separate messages, and have no callbacks.
    expect(service.emulator.messages(ACCOUNT).map(({ state }) => state)).toEqual([
      'FAILED',
      'DELIVERED',
      'DELIVERED',
      'DELIVERED',
    ]);
    expect(service.facts.filter((fact) => fact.kind === 'created')).toHaveLength(4);
  });

  test('a delivered message has no failure callback, and no response is a status of 0', async () => {
    const receiver = await httpSink();
    const service = await world();
    const headers = { 'Svc-Failure-Callback': `${receiver.url}/failed` };
    expect((await service.call('POST', `/v2/publish/${receiver.url}/ok`, { headers })).status).toBe(200);
    await service.call('POST', '/v2/publish/http://nowhere.invalid/', { headers: { ...headers, 'Svc-Retries': '0' } });
    await service.drain();
    const told = receiver.requests.filter((request) => request.url === '/failed');
    expect(told.map((request) => JSON.parse(request.body.toString()) as object)).toMatchObject([
      { status: 0, header: {}, body: '' },
    ]);
  });

  test.each([
    ['free', 70_000, 70_000],
    ['free', 1_200_000, 1_048_576],
  ] as const)('on the %s plan, of a response of %d bytes they carry %d', async (plan, size, carried) => {
    const service = await world({ accounts: [{ id: ACCOUNT, token: 'token-1', plan }], enforceLimits: true });
    const { destinations } = service.emulator;
    await destinations.script('a.example', [{ status: 500, body: 'x'.repeat(size) }]);
    await destinations.script('told.example', [200]);
    const headers = {
      'Svc-Retries': '0',
      'Svc-Callback': 'http://told.example/',
      'Svc-Failure-Callback': 'http://told.example/',
    };
    await service.call('POST', '/v2/publish/http://a.example/', { headers });
    await service.drain();
    const bodies = destinations
      .requests('told.example')
      .map(({ body }) => JSON.parse(body.toString()) as { body: string });
    expect(bodies.map(({ body }) => Buffer.from(body, 'base64').length)).toEqual([carried, carried]);
    const [entry] = (await allLogs(service, 'state=ERROR')) as readonly { readonly responseBody?: string }[];
    expect(entry!.responseBody).toHaveLength(65_536);
  });

  test("a callback that fails uses the original's retries unless it has its own", async () => {
    const receiver = await httpSink(
      (request, response) => void response.writeHead(request.url === '/ok' ? 200 : 500).end(),
    );
    const service = await world();
    const headers = { 'Svc-Retries': '2', 'Svc-Retry-Delay': '1000', 'Svc-Callback': `${receiver.url}/cb` };
    expect((await service.call('POST', `/v2/publish/${receiver.url}/ok`, { headers })).status).toBe(200);
    await service.drain();
    expect(receiver.requests).toHaveLength(4);
    await service.call('POST', `/v2/publish/${receiver.url}/ok`, {
      headers: { ...headers, 'Svc-Callback-Retries': '0' },
    });
    await service.drain();
    expect(receiver.requests).toHaveLength(6);
  });
});

test.each([
  ['headers redacts all headers', 'headers'],
  ['header redacts all headers', 'header'],
  ['spaces in a redaction are not part of the name', 'header[ Token ]'],
])('%s', async (_what, fields) => {
  const service = await world();
  const headers = { 'Svc-Redact-Fields': fields, 'Svc-Forward-Token': 'abc', 'Svc-Delay': '1h' };
  await service.call('POST', '/v2/publish/http://a.example/', { headers });
  expect(JSON.stringify(await allLogs(service))).toMatch(/"Token":\["REDACTED:/);
});

test('redacted content arrives unchanged and is shown as its hash', async () => {
  const { sink, service } = await worldWithSink();
  const hidden = (text: string): string => `REDACTED:${createHash('sha256').update(text).digest('hex')}`;
  const headers = {
    'Content-Type': 'text/plain',
    'Svc-Forward-Token': 'abc',
    'Svc-Redact-Fields': 'body, header[token], header[Svc-Forward-Other]',
    'Svc-Forward-Other': 'def',
  };
  expect((await service.call('POST', `/v2/publish/${sink.url}/`, { headers, body: 'secret' })).status).toBe(200);
  await service.call('POST', `/v2/publish/${sink.url}/`, {
    headers: { ...headers, 'Svc-Redact-Fields': 'headers', 'Svc-Callback': `${sink.url}/cb` },
    body: 'open',
  });
  await service.drain();
  expect(sink.requests[0]!.body.toString()).toBe('secret');
  expect(sink.requests[0]!.headers).toMatchObject({ token: 'abc' });
  const entries = (await allLogs(service, 'state=CREATED')).toReversed() as readonly {
    body?: string;
    header?: object;
  }[];
  expect(entries.map(({ body, header }) => ({ body, header }))).toEqual([
    {
      body: hidden('secret'),
      header: { 'Content-Type': ['text/plain'], Token: [hidden('abc')], Other: [hidden('def')] },
    },
    {
      body: 'open',
      header: { 'Content-Type': [hidden('text/plain')], Token: [hidden('abc')], Other: [hidden('def')] },
    },
    // The callback's body contains the redacted parts, and its own headers may contain them too.
    { body: expect.stringMatching(/^REDACTED:/), header: { 'Content-Type': [hidden('application/json')] } },
  ]);
});
