/** The probes' own listener: two addresses, and nothing sensitive. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { startProbes } from '#operate/http/probes.ts';
import { ask, world } from './world.ts';

async function probing(deps: ReturnType<typeof world>): Promise<string> {
  const server = await startProbes(deps, { host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    const closed = server.close();
    if (deps.clock instanceof ManualClock) await deps.clock.advance(2_000);
    await closed;
  });
  return server.address;
}

describe('the listener of the probes', () => {
  test("returns the daemon's state", async () => {
    let works = true;
    const address = await probing(
      world({
        health: () => ({ healthy: works, detail: 'the scheduler' }),
        readiness: () => ({ ready: works, detail: 'the first round' }),
      }),
    );
    const both = async () => [await ask(address, '/-/healthy'), await ask(address, '/-/ready')];
    expect((await both()).map(({ status, text }) => [status, text])).toEqual([
      [200, 'healthy: the scheduler\n'],
      [200, 'ready: the first round\n'],
    ]);
    works = false;
    expect((await both()).map(({ status, text }) => [status, text])).toEqual([
      [503, 'not healthy: the scheduler\n'],
      [503, 'not ready: the first round\n'],
    ]);
  });

  test('needs no credentials, whatever tokens exist', async () => {
    const tokens = [{ name: 'oncall', role: 'operator' as const, token: Secret.of('token') }];
    const address = await probing(world({ tokens }));
    expect((await ask(address, '/-/ready')).status).toBe(200);
    expect((await ask(address, '/-/ready', { headers: { Authorization: 'Bearer wrong' } })).status).toBe(200);
  });

  test.each(['/', '/metrics', '/api/v1/status', '/-/reload', '/-/healthy/', '/-/../metrics'])(
    'has nothing at %s',
    async (path) => {
      const address = await probing(world());
      const { status, text } = await ask(address, path);
      expect([status, text]).toEqual([404, 'Not found. Available paths: /-/healthy /-/ready\n']);
    },
  );

  test('supports no other method', async () => {
    const address = await probing(world());
    const { status, headers } = await ask(address, '/-/healthy', { method: 'POST' });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
    expect((await ask(address, '/-/healthy', { method: 'HEAD' })).status).toBe(200);
  });
});
