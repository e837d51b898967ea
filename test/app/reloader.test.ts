/** Reload of the configuration. The daemon runs on after any result. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Reloader } from '#app/reloader.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a check that throws is an invalid configuration', async () => {
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
  // The intended policies are unknown.
  expect(loaded).not.toHaveProperty('policyPart');
  loaded.answer({ ok: false, message: 'told' });
  expect(await asked).toEqual({ ok: false, message: 'told' });
  // Checking again whether it is valid now does not throw either.
  await clock.advance(60_000);
});
