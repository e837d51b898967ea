/** Requests to the service through a real proxy: which ones may have taken effect, and what their errors show. */
import { createServer as createHttps } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '#service/service-error.ts';
import { authority } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { httpProxy, PROXY_PASSWORD, proxyEnvironment } from '../support/http-proxy.ts';
import { onLoopback } from '../support/loopback.ts';
import { call, clientUnderTest, failureOf } from './client-under-test.ts';

const ORIGIN = 'service.example';
const RESUME = '/v2/workflows/dlq/resume?dlqIds=dlq-1';
const RESUMED = '{"workflowRuns":[{"workflowRunId":"wfr_1","workflowCreatedAt":1777777777777}]}';

/** A service behind a proxy. A tunnel leads to TLS with a certificate of `ORIGIN`. */
async function proxied(scheme: 'http' | 'https', isTrusted = true) {
  const ours = await authority('ours');
  const served: string[] = [];
  const answer = { isLost: false };
  const server = createHttps(await ours.issue({ sans: [{ type: 'dns', value: ORIGIN }] }), (request, response) => {
    served.push(`${request.method} ${request.url}`);
    if (answer.isLost) response.destroy();
    else response.end(RESUMED);
  });
  const trusted = getCACertificates('default');
  onTestFinished(() => setDefaultCACertificates(trusted));
  if (isTrusted) setDefaultCACertificates([...trusted, ours.cert]);
  const tested = await clientUnderTest({
    url: `${scheme}://${ORIGIN}`,
    answer: (_request, response) => {
      if (answer.isLost) response.destroy();
      else response.end(RESUMED);
    },
  });
  const proxy = await httpProxy(scheme === 'http' ? tested.sink.url : await onLoopback(server));
  proxyEnvironment({ [`${scheme.toUpperCase()}_PROXY`]: proxy.url });
  const write = () => tested.message.resumeWorkflowDlq(['dlq-1'], {}, call);
  return { ...tested, served, answer, proxy, write };
}

async function failed(work: Promise<unknown>): Promise<ServiceError> {
  const error = await failureOf(work);
  expect(error).toBeInstanceOf(ServiceError);
  expect(inspect(error, { depth: 9 })).not.toContain(PROXY_PASSWORD);
  return error as ServiceError;
}

test('a tunnel serves several requests, and the proxy sees none of them', async () => {
  const { proxy, served, write } = await proxied('https');
  await write();
  await write();
  expect(proxy.requests).toEqual([`CONNECT ${ORIGIN}:443`]);
  expect(served).toEqual([RESUME, RESUME].map((path) => `POST ${path}`));
});

test('a response that is lost after the tunnel may have taken effect', async () => {
  const { answer, served, write } = await proxied('https');
  answer.isLost = true;
  expect(await failed(write())).toMatchObject({ code: 'connection', effect: 'possible' });
  expect(served).toHaveLength(1);
});

test.each([
  [407, '(407)'],
  [502, '(502)'],
  ['hang up', '(no response)'],
] as const)('a tunnel that fails with %s sent nothing', async (refusal, shown) => {
  const { proxy, served, write } = await proxied('https');
  proxy.refusal = refusal;
  const error = await failed(write());
  expect(error).toMatchObject({ code: 'connection', effect: 'none' });
  expect(error.message).toContain(`the proxy does not connect to the service ${shown}; the request was not sent`);
  expect(error.message).toContain('check HTTP_PROXY, HTTPS_PROXY and NO_PROXY');
  expect(served).toEqual([]);
});

test('an untrusted service behind a tunnel gets nothing', async () => {
  const { proxy, served, write } = await proxied('https', false);
  expect(await failed(write())).toMatchObject({ code: 'tls', effect: 'none' });
  expect([proxy.requests.length, served]).toEqual([1, []]);
});

test.each(['http', 'https'] as const)('a proxy that does not listen gets no %s request', async (scheme) => {
  const { write } = await proxied(scheme);
  const url = `http://opsd:${PROXY_PASSWORD}@127.0.0.1:${await freePort()}`;
  proxyEnvironment({ [`${scheme}_proxy`]: url });
  const error = await failed(write());
  expect(error).toMatchObject({ code: 'connection', effect: 'none' });
  expect(error.message).toContain('and the proxy if one is set');
});

test('without TLS, a proxy that lost a request may have passed it on', async () => {
  const { proxy, answer, sink, write } = await proxied('http');
  await write();
  expect(proxy.requests).toEqual([`POST http://${ORIGIN}${RESUME}`]);
  answer.isLost = true;
  expect(await failed(write())).toMatchObject({ code: 'connection', effect: 'possible' });
  expect(sink.requests).toHaveLength(2);

  proxy.refusal = 407;
  const refused = await failed(write());
  expect(refused).toMatchObject({ code: 'client_error', effect: 'none', status: 407 });
  expect(refused.message).toContain('check HTTP_PROXY');
  expect(sink.requests).toHaveLength(2);
});
