import { expect, test } from 'vitest';
import type { RunningEmulator } from '#emulator/emulator.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { demoScreen } from '#cli/commands/demo-screen.ts';

const emulator = { onFact: () => undefined, workflowDlq: () => [] } as unknown as RunningEmulator;
const service = { url: 'http://127.0.0.1:1', account: 'acc', token: 'token' };

test.each([
  [{}, 'opsd'],
  [{ npm_lifecycle_event: 'npx' }, 'npx --no msgsvc-opsd'],
  [{ npm_lifecycle_event: 'start', npm_package_name: 'msgsvc-opsd' }, 'npm run --silent opsd --'],
])('the commands on the screen run where the demo was started: %o', (env, program) => {
  let shown = '';
  const stdout = { isTTY: true, write: (text: string) => void (shown += text) };
  const screen = demoScreen(emulator, service, {
    stdout,
    stderr: stdout,
    env: { ...env, NO_COLOR: '1' },
    signal: new AbortController().signal,
    clock: systemClock,
    readInput: () => Promise.resolve(''),
  });
  screen.show({ address: 'http://127.0.0.1:1', socketPath: '/tmp/a b/opsd.sock' }, 'c-1')[Symbol.dispose]();
  expect(shown).toMatch(/^Open http:\/\/127\.0\.0\.1:1\/sign-in\?code=c-1$/m);
  expect(shown).toContain(`${program} plan resume-billing --socket '/tmp/a b/opsd.sock'`);
  expect(shown).toContain(`${program} pause --reason 'to see it stop' --socket '/tmp/a b/opsd.sock'`);
});
