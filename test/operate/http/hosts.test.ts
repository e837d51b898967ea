/** Requests for a host name that an attacker points at the daemon. */
import fc from 'fast-check';
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { isKnownHost } from '#foundation/platform/known-hosts.ts';
import { ask, serving, world } from './world.ts';

const OWN = ['opsd.example', '*.ops.example'];

test.each([
  '127.0.0.1:10777',
  '[::1]:10777',
  '10.2.3.4',
  'localhost:10777',
  'opsd',
  'opsd.monitoring.svc:10777',
  'opsd.monitoring.svc.cluster.local',
  'vm-7.project.internal',
  hostname(),
  'OPSD.example',
  'opsd.example.:443',
  'a.b.ops.example',
])('a request for %s is answered', async (host) => {
  const { address } = await serving(world({ hosts: OWN }));
  expect((await ask(address, '/api/v1/status', { headers: { host } })).status).toBe(200);
});

test.each([
  'rebound.attacker.example',
  'opsd.example.attacker.example',
  'ops.example',
  'svc.attacker.example',
  '1.2.3.4.5',
  '127.0.0.1.nip.example',
])('a request for %s is rejected, and the response says what to do', async (host) => {
  const { address } = await serving(world({ hosts: OWN }));
  for (const path of ['/', '/metrics', '/api/v1/status']) {
    const answer = await ask(address, path, { headers: { host } });
    expect(answer.status).toBe(421);
    expect(answer.text).toContain('server.hosts');
  }
  // A health check may use any name. The response contains nothing else.
  expect((await ask(address, '/-/healthy', { headers: { host } })).status).toBe(200);
});

test('a Host header that is not a host is rejected', async () => {
  const { address } = await serving(world());
  for (const host of ['a@b', 'a/b', 'a b', '[::1', 'a:1:2']) {
    expect((await ask(address, '/metrics', { headers: { host } })).status).toBe(400);
  }
});

test('the host of an absolute target counts, not the Host header', async () => {
  const { address } = await serving(world());
  const headers = { host: 'localhost' };
  expect((await ask(address, 'http://rebound.attacker.example/metrics', { headers })).status).toBe(421);
});

test('a name with a public suffix is unknown unless configured', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
  fc.assert(
    fc.property(
      fc.array(label, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('com', 'example', 'dev', 'ai'),
      (labels, end) => {
        const name = [...labels, end].join('.');
        expect(isKnownHost(name, [])).toBe(name === hostname());
        expect(isKnownHost(name, [name])).toBe(true);
      },
    ),
  );
});
