import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/platform/logger.ts';
import { Secret } from '../../src/platform/secret.ts';
import { tempDir } from '../support/temp-dir.ts';

const CANARY = 'canary-4f1c9b';

test('a secret cannot be printed by accident', () => {
  const secret = Secret.of(CANARY);
  let logged = '';
  const logger = createLogger({ level: 'debug', destination: { write: (line) => (logged += line) } });
  logger.info(
    { secret, nested: { deep: [secret] }, token: CANARY, request: { headers: { authorization: CANARY } } },
    'x',
  );
  const printed = [
    String(secret),
    JSON.stringify({ secret }),
    inspect({ secret }, { depth: 9, showHidden: true }),
    logged,
  ];
  expect(printed.join('\n')).not.toContain(CANARY);
  expect(logged).toContain('[secret]');
  expect(secret.reveal()).toBe(CANARY);
});

test('a file is read again when its contents, or what its link points to, change', () => {
  const dir = tempDir();
  const file = join(dir, 'token');
  writeFileSync(file, 'first\n');
  let changes = 0;
  const secret = Secret.fromFile(file, () => changes++);
  expect(secret.reveal()).toBe('first');
  writeFileSync(file, 'second');
  expect(secret.reveal()).toBe('second');

  // As Kubernetes does it: a link to a folder is swapped.
  for (const version of ['v1', 'v2']) {
    mkdirSync(join(dir, version));
    writeFileSync(join(dir, version, 'token'), version);
  }
  symlinkSync('v1', join(dir, 'data'));
  const mounted = Secret.fromFile(join(dir, 'data/token'), () => changes++);
  expect(mounted.reveal()).toBe('v1');
  symlinkSync('v2', join(dir, 'data.new'));
  renameSync(join(dir, 'data.new'), join(dir, 'data'));
  expect(mounted.reveal()).toBe('v2');
  expect(changes).toBe(2);
});

test('a file that is gone or empty is an error that names the path alone', () => {
  const file = join(tempDir(), 'token');
  writeFileSync(file, CANARY);
  const secret = Secret.fromFile(file);
  expect(secret.reveal()).toBe(CANARY);
  writeFileSync(file, ' \n');
  expect(() => secret.reveal()).toThrow(`secret file ${file} is empty`);
  rmSync(file);
  expect(() => secret.reveal()).toThrow(/ENOENT.*token/);
});
