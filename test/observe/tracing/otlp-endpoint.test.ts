import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { otlpEndpoint, type Env } from '#observe/tracing/otlp-endpoint.ts';
import { traceSettings } from '#observe/tracing/settings.ts';
import { authority } from '../../support/certificates.ts';
import { tempDir } from '../../support/temp-dir.ts';

function endpoint(env: Env, otlp?: Record<string, unknown>) {
  return otlpEndpoint(traceSettings.parse(otlp === undefined ? {} : { otlp }), env);
}

/** An environment with an endpoint, and variables without their prefix. */
const withEndpoint = (variables: Env, url = BASE): Env =>
  Object.fromEntries(
    Object.entries({ ENDPOINT: url, ...variables }).map(([name, value]) => [`OTEL_EXPORTER_OTLP_${name}`, value]),
  );

const BASE = 'http://collector:4318';

test('without any endpoint there is none', () => {
  expect(endpoint({})).toBeUndefined();
  expect(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' })).toBeUndefined();
});

test('the configuration comes first and gets the path of traces', () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://env:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  expect(endpoint(env, { url: `${BASE}/` })).toMatchObject({ url: `${BASE}/v1/traces`, protocol: 'http/protobuf' });
  expect(endpoint({}, { url: `${BASE}/otlp`, protocol: 'http/json' })).toMatchObject({
    url: `${BASE}/otlp/v1/traces`,
    protocol: 'http/json',
  });
  expect(endpoint({ OTEL_SDK_DISABLED: 'true' }, { url: BASE })).toBeDefined();
});

test('the variable of traces is used unchanged, the one for all signals gets the path', () => {
  expect(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: `${BASE}/` })?.url).toBe(`${BASE}/v1/traces`);
  expect(
    endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: BASE, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces/x' })?.url,
  ).toBe('https://traces/x');
});

test.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])(
  '%o switches the environment’s endpoint off',
  (off) => {
    expect(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: BASE, ...off })).toBeUndefined();
  },
);

test('headers, protocol, compression and timeout come from the environment, where the more specific variable applies', () => {
  const env = withEndpoint({
    PROTOCOL: 'http/protobuf',
    TRACES_PROTOCOL: 'http/json',
    HEADERS: 'Authorization=Bearer%20abc, x-tenant=one',
    TRACES_HEADERS: 'x-tenant=two',
    COMPRESSION: 'gzip',
    TIMEOUT: '2500',
  });
  expect(endpoint(env)).toEqual({
    url: `${BASE}/v1/traces`,
    protocol: 'http/json',
    headers: { authorization: 'Bearer abc', 'x-tenant': 'two' },
    compression: 'gzip',
    timeoutMs: 2_500,
    tls: {},
  });
  expect(endpoint(env, { url: BASE, headers: { 'X-Tenant': 'three' } })?.headers).toEqual({
    authorization: 'Bearer abc',
    'x-tenant': 'three',
  });
});

test.each([
  ['http://c:4318?tenant=a', 'http://c:4318/v1/traces?tenant=a'],
  ['http://c:4318/otlp/?tenant=a#x', 'http://c:4318/otlp/v1/traces?tenant=a'],
  ['HTTPS://C.example', 'https://c.example/v1/traces'],
])('the path is added to %s by the parts of the URL', (url, full) => {
  expect(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: url })?.url).toBe(full);
  if (!url.includes('?')) expect(endpoint({}, { url })?.url).toBe(full);
  expect(endpoint({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: full.replace('https', 'HTTPS') })?.url).toBe(full);
});

test('a protocol for other programs is ignored, and named', () => {
  const ignored: string[] = [];
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: BASE, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  const found = otlpEndpoint(traceSettings.parse({}), env, (variable) => ignored.push(variable));
  expect([found?.protocol, ignored]).toEqual(['http/protobuf', ['OTEL_EXPORTER_OTLP_PROTOCOL']]);
});

test('certificates are read from files', async () => {
  const folder = tempDir();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: BASE, OTEL_EXPORTER_OTLP_CERTIFICATE: file('ca.pem', 'PEM') };
  expect(endpoint(env)?.tls).toEqual({ ca: Buffer.from('PEM') });
  const { cert, key } = await (await authority()).issue({ use: 'client' });
  const withCert = { ...env, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file('client.crt', cert) };
  expect(() => endpoint(withCert)).toThrow('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE needs OTEL_EXPORTER_OTLP_CLIENT_KEY');
  const withKey = (text: string) => endpoint({ ...withCert, OTEL_EXPORTER_OTLP_CLIENT_KEY: file('client.key', text) });
  expect(() => withKey('PEM')).toThrow(
    `the client certificate cannot be used: ${folder}/client.key has no private key`,
  );
  expect(withKey(key)?.client?.()).toEqual({ cert: cert.trim(), key: key.trim() });
});

describe('an invalid setting is named, without its value where that may be secret', () => {
  test.each([
    [withEndpoint({}, 'collector:4317'), 'OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL'],
    [withEndpoint({ HEADERS: 'hush-hush' }), 'OTEL_EXPORTER_OTLP_HEADERS must be key=value pairs'],
    [withEndpoint({ HEADERS: 'a=hush%0ahush' }), 'OTEL_EXPORTER_OTLP_HEADERS must be key=value pairs'],
    [
      withEndpoint({ CERTIFICATE: '/nowhere/ca.pem' }),
      'OTEL_EXPORTER_OTLP_CERTIFICATE: file /nowhere/ca.pem cannot be read',
    ],
  ])('%o', (env, message) => {
    expect(() => endpoint(env)).toThrow(message);
    expect(() => endpoint(env)).not.toThrow(/hush/);
  });
});
