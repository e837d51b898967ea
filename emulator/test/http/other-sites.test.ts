/** Pages of other sites and the control API, which needs no credentials. */
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { systemClock } from '#foundation/platform/clock.ts';
import { world } from '../world.ts';

async function controlled() {
  const { emulator } = await world({ clock: systemClock, time: 'virtual', control: true });
  const { hostname, port, host } = new URL(emulator.url);
  /** Node's fetch cannot set headers that only a browser may set. */
  const ask = (method: string, headers: Record<string, string> | readonly string[]): Promise<number> =>
    new Promise((resolve, reject) => {
      const path = method === 'GET' ? '/-/emulator/state' : '/-/emulator/reset';
      const sent = request({ hostname, port, method, path, headers }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode!));
      });
      sent.on('error', reject);
      sent.end();
    });
  return { ask, host };
}

test.each<Record<string, string>>([
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' },
  { origin: 'https://attacker.example' },
  { origin: 'null' },
  { host: 'rebound.attacker.example' },
  { host: 'rebound.attacker.example', origin: 'http://rebound.attacker.example', 'sec-fetch-site': 'same-origin' },
])('a request with %j is rejected', async (headers) => {
  const { ask } = await controlled();
  expect(await ask('POST', headers)).toBe(403);
  expect(await ask('GET', headers)).toBe(403);
});

test('two Host headers are rejected', async () => {
  const { ask } = await controlled();
  expect(await ask('POST', ['Host', 'localhost', 'Host', 'localhost'])).toBe(400);
});

test('requests of programs, and of pages of the service itself, succeed', async () => {
  const { ask, host } = await controlled();
  for (const headers of [
    {},
    { host: 'emulator:8080' },
    { host: 'localhost:9' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: `http://${host}` },
    { origin: `http://${host}` },
  ] as Record<string, string>[]) {
    expect(await ask('POST', headers)).toBe(200);
  }
});
