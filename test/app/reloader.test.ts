/** Loading the configuration again, for a daemon that runs on whatever comes of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Reloader } from '#app/reloader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a check that breaks down is a configuration that cannot be used', async () => {
  const path = join(tempDir(), 'opsd.yaml');
  writeFileSync(path, 'accounts: [{ name: main, url: embedded }]\n');
  const env = {
    get OPSD_STORE(): string {
      throw new Error('broken check');
    },
  };
  const clock = new ManualClock(0);
  const reloader = new Reloader({ path, contents: '', env, clock });
  onTestFinished(() => reloader[Symbol.dispose]());
  const asked = reloader.request('SIGHUP');
  const loaded = reloader.load();
  expect(loaded).toMatchObject({ ok: false, problems: [expect.stringMatching(/opsd\.yaml: .*: broken check$/)] });
  // Nobody knows what was meant of the policies.
  expect(loaded).not.toHaveProperty('policyPart');
  loaded.answer({ ok: false, message: 'told' });
  expect(await asked).toEqual({ ok: false, message: 'told' });
  // Nor does looking whether it can be used by now.
  await clock.advance(60_000);
});
