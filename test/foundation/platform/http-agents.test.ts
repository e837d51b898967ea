/** Proxies of the environment, by real requests through a real proxy. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { redact } from '#foundation/domain/redact.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { openAgent } from '#foundation/platform/http-agents.ts';
import { createHttpPost } from '#foundation/platform/http-post.ts';
import { invalidProxies } from '#foundation/platform/proxies.ts';
import { authority } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { httpProxy, PROXY_PASSWORD, proxyEnvironment } from '../../support/http-proxy.ts';
import { httpSink } from '../../support/http-sink.ts';
import { onLoopback } from '../../support/loopback.ts';
import { until } from '../../support/until.ts';

async function proxied(timeoutMs = 5_000) {
  const sink = await httpSink();
  const post = createHttpPost({ clock: systemClock, timeoutMs });
  onTestFinished(() => post[Symbol.dispose]());
  const send = (url: string) => post.send(url, { headers: {}, body: Buffer.from('x') }, new AbortController().signal);
  return { sink, send, proxy: await httpProxy(sink.url) };
}

test.each(['http_proxy', 'HTTP_PROXY'])('%s gets requests in absolute form', async (name) => {
  const { sink, send, proxy } = await proxied();
  proxyEnvironment({ [name]: proxy.url, https_proxy: 'http://other.invalid' });
  expect(await send('http://hooks.example:8080/x?y=1')).toMatchObject({ status: 200 });
  expect(proxy.requests).toEqual(['POST http://hooks.example:8080/x?y=1']);
  expect(sink.requests).toMatchObject([{ url: '/x?y=1', headers: { host: 'hooks.example:8080' } }]);
});

test('a name in lower case takes precedence, and a proxy needs no scheme', async () => {
  const { send, proxy } = await proxied();
  proxyEnvironment({ http_proxy: proxy.url.replace('http://', ''), HTTP_PROXY: 'http://other.invalid' });
  expect(await send('http://hooks.example/')).toMatchObject({ status: 200 });
  expect(proxy.requests).toHaveLength(1);
});

test('this machine is reached without a proxy', async () => {
  const { sink, send, proxy } = await proxied();
  proxyEnvironment({ http_proxy: proxy.url });
  expect(await send(sink.url)).toMatchObject({ status: 200 });
  expect(proxy.requests).toEqual([]);
});

test.each([
  ['http://hooks.example', '', true],
  ['http://hooks.example', 'hooks.example', false],
  ['http://a.hooks.example', 'other.example, hooks.example', false],
  ['http://a.hooks.example', 'other.example .hooks.example', false],
  ['http://nothooks.example', 'hooks.example', true],
  ['http://hooks.example:8080', 'hooks.example:8080', false],
  ['http://hooks.example:8081', 'hooks.example:8080', true],
  ['http://hooks.example', '*', false],
  ['http://10.255.2.3', '10.0.0.0/8', false],
  ['http://11.0.0.0', '10.0.0.0/8', true],
  ['http://192.168.7.1', '192.168.7.1/32', false],
  ['http://192.168.7.2', '192.168.7.1/32', true],
  ['http://127.9.9.9', 'hooks.example', false],
  ['http://[::1]', '', false],
  ['http://localhost', '', false],
  ['http://hooks.localhost', '', false],
])('%s with NO_PROXY=%j: %s', async (url, exceptions, uses) => {
  for (const name of ['no_proxy', 'NO_PROXY']) {
    proxyEnvironment({ HTTP_PROXY: 'http://127.0.0.1:9', [name]: exceptions });
    const lookup: LookupFunction = (_host, _options, done) => done(new Error('not looked up'), []);
    const { agent, request } = await openAgent('http:', { lookup });
    const sent = request(url, { agent }).on('error', () => undefined);
    sent.destroy();
    agent.destroy();
    expect(sent.path).toBe(uses ? `${url}/` : '/');
  }
});

test('a tunnel that the proxy does not open is closed after the timeout', async () => {
  const { send, proxy } = await proxied(50);
  proxyEnvironment({ https_proxy: proxy.url });
  proxy.refusal = 'hold';
  await expect(send('https://hooks.example')).rejects.toBeInstanceOf(Error);
  await until({ what: 'the tunnel is closed' }, () => proxy.tunnels[0]?.readableEnded);
});

test('the login is a known secret, and no error has it', async () => {
  const { send, proxy } = await proxied();
  proxyEnvironment({
    http_proxy: `http://opsd:${PROXY_PASSWORD}@127.0.0.1:${await freePort()}`,
    https_proxy: proxy.url,
  });
  proxy.refusal = 407;
  for (const url of ['http://hooks.example', 'https://hooks.example']) {
    const error = (await send(url).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(redact(`${error.stack}`)).not.toContain(PROXY_PASSWORD);
  }
  const encoded = Buffer.from(`opsd:${PROXY_PASSWORD}`).toString('base64');
  expect(redact(`it said ${PROXY_PASSWORD} and ${encoded}`)).not.toMatch(/canary|b3BzZD/);
});

test.each(['http:', 'https:'] as const)(
  'a response over %s that is read late is not that of another request',
  async (protocol) => {
    const ours = await authority('ours');
    const answer = (incoming: IncomingMessage, response: ServerResponse): void =>
      void response.end(incoming.url!.slice(1).repeat(20_000));
    const server = protocol === 'http:' ? createServer(answer) : createHttps(await ours.issue(), answer);
    const url = (await onLoopback(server)).replace('http:', protocol);
    const { agent, request } = await openAgent(protocol, { keepAlive: true, ca: ours.cert });
    onTestFinished(() => agent.destroy());
    const responseTo = async (path: string): Promise<IncomingMessage> => {
      const [response] = (await once(request(`${url}/${path}`, { agent }).end(), 'response')) as [IncomingMessage];
      return response;
    };
    const [late, ...others] = await Promise.all(['a', 'b', 'c'].map(responseTo));
    for (const other of others) await text(other);
    expect(await text(late!)).toBe('a'.repeat(20_000));
  },
);

test.each([
  'socks5://opsd:PASSWORD@proxy.example:1080',
  'http://opsd:PASSWORD@proxy.example:port',
  'http://opsd:PASSWORD%@proxy.example',
])('%s is rejected without its password', async (given) => {
  const url = given.replace('PASSWORD', PROXY_PASSWORD);
  expect(invalidProxies({ HTTP_PROXY: url, https_proxy: url, HTTPS_PROXY: 'http://proxy.example' })).toEqual([
    'HTTP_PROXY',
    'https_proxy',
  ]);
  expect(invalidProxies({ HTTP_PROXY: '', https_proxy: 'https://proxy.example' })).toEqual([]);
  proxyEnvironment({ HTTPS_PROXY: url });
  const refused = openAgent('https:', {});
  await expect(refused).rejects.toThrow(/^HTTPS_PROXY must be the http:\/\/ or https:\/\/ URL of a proxy$/);
});
