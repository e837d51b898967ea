/** `npm start` as a user runs it: on a terminal, ended with Ctrl-C. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { CTRL_C, onTerminal } from '../support/pseudo-terminal.ts';
import { until } from '../support/until.ts';

/** Quoted for the shell: the path can have spaces. */
const NODE = `'${process.execPath}'`;

test('npm start shows the addresses and the state, and one Ctrl-C ends it with exit code 0', async () => {
  const terminal = onTerminal('npm start -- --listen 127.0.0.1:0');
  await until({ what: 'the summary shows deliveries' }, () => /[1-9]\d* delivered/.test(terminal.screen()));
  expect(terminal.screen()).toMatch(/status page\s+\S*http:\/\/127\.0\.0\.1:\d+\//);
  expect(terminal.screen()).toMatch(/sources {3}.*\d ok/);
  expect(terminal.screen()).toContain('resume-billing');
  expect(terminal.screen()).not.toContain('{"level"');
  terminal.press(CTRL_C);
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen()).toContain('press Ctrl-C again to end at once');
});

test('a repeated Ctrl-C still ends with exit code 0, at the last moment too', async () => {
  const terminal = onTerminal(`${NODE} src/opsd.js demo --listen 127.0.0.1:0`);
  await until({ what: 'the summary shows deliveries' }, () => /[1-9]\d* delivered/.test(terminal.screen()));
  // All of them count as one Ctrl-C if the program handles them within half a second. A clean end takes about 30 ms.
  const pressing = setInterval(() => terminal.press(CTRL_C), 1);
  const ceasing = setTimeout(() => clearInterval(pressing), 200);
  onTestFinished(() => (clearInterval(pressing), clearTimeout(ceasing)));
  expect(await terminal.ended).toBe(0);
});

test('a second Ctrl-C immediately ends a daemon that waits for a clean end', async () => {
  const world = await daemonWorld();
  await world.failRuns(1, 'billing');
  const never = Promise.withResolvers<void>();
  world.proxy.decide((request) => (request.method === 'POST' ? never.promise : 'pass'));
  const config = world.write(repairConfig(world, { mode: 'enforce', every: '1s' }));
  const terminal = onTerminal(`${NODE} src/opsd.js run --config ${config}`);
  await until({ what: 'a resume is under way' }, () => world.proxy.passed.some(({ method }) => method === 'POST'));
  terminal.press(CTRL_C);
  await until({ what: 'the clean end waits for its answer' }, () => terminal.screen().includes('daemon stopping'));
  // What comes within half a second is the same Ctrl-C, which npm may pass on once more: so press until it is heard.
  const pressing = setInterval(() => terminal.press(CTRL_C), 100);
  onTestFinished(() => clearInterval(pressing));
  expect(await terminal.ended).toBe(128 + 2);
  expect(terminal.screen()).not.toContain('daemon stopped');
});

test('opsd status --watch redraws the screen until Ctrl-C, which ends it with exit code 0', async () => {
  const world = await daemonWorld();
  const daemon = world.run(repairConfig(world, { mode: 'audit', every: '1h' }));
  await daemon.logged('daemon running');
  const terminal = onTerminal(`${NODE} src/opsd.js status --watch --config ${join(world.folder, 'opsd.yaml')}`);
  await until({ what: 'two screens' }, () => terminal.screen().split('\u001B[H').length > 2);
  expect(terminal.screen()).toMatch(/policy {4}resume-billing/);
  terminal.press(CTRL_C);
  expect(await terminal.ended).toBe(0);
});

test('opsd init asks for a token without showing it, and writes a configuration', async () => {
  const world = await daemonWorld();
  const file = join(world.folder, 'written.yaml');
  const terminal = onTerminal(`${NODE} src/opsd.js init --message-url ${world.service.url} --output ${file}`);
  await until({ what: 'the question' }, () => terminal.screen().includes('Token: '));
  terminal.press(`${world.service.token}\r`);
  await until({ what: 'the next question' }, () => terminal.screen().includes('management API'));
  terminal.press('\r');
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen()).toContain('token accepted');
  expect(terminal.screen()).not.toContain(world.service.token);
  expect(readFileSync(join(world.folder, 'secrets/production-token'), 'utf8').trim()).toBe(world.service.token);
});
