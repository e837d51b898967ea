/** `opsd reload` while the daemon applies another change. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli } from '#cli/cli.ts';
import type { ManualClock } from '#foundation/platform/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { terminal } from './terminal.ts';

test('a briefly unavailable daemon is requested again', async () => {
  const path = join(tempDir(), 's');
  const { io, programs } = terminal();
  const clock = io.clock as ManualClock;
  const code = runCli(['reload', '--socket', path], io, programs);
  await until({ what: 'it waits to ask again' }, () => clock.timers === 1);
  const server = createServer((_request, response) => response.end('{"changed":false,"hash":"x"}'));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  await clock.advance(1_000);
  expect(await code).toBe(0);
});

test('a daemon that stays unavailable is reported after some seconds', async () => {
  const world = terminal();
  const clock = world.io.clock as ManualClock;
  const code = runCli(['reload', '--socket', join(tempDir(), 's')], world.io, world.programs);
  await until({ what: 'it gives up' }, async () => {
    await clock.advance(1_000);
    return world.stderr !== '';
  });
  expect(await code).toBe(1);
  expect(world.stderr).toContain('no daemon listens on');
  expect(clock.monotonic()).toBeGreaterThanOrEqual(5_000);
});
