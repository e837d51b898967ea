import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger } from '#foundation/platform/logger.ts';
import { Secret, type SecretRead } from '#foundation/platform/secret.ts';
import { tempDir } from '../../support/temp-dir.ts';

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

test('a file is read again when its content, or the target of its link, changes', () => {
  const dir = tempDir();
  const file = join(dir, 'token');
  writeFileSync(file, 'first\n');
  const reads: SecretRead[] = [];
  const secret = Secret.fromFile(file, (read) => reads.push(read));
  expect(secret.reveal()).toBe('first');
  writeFileSync(file, 'second');
  expect(secret.reveal()).toBe('second');

  // As Kubernetes does: a link to a folder is swapped.
  for (const version of ['v1', 'v2']) {
    mkdirSync(join(dir, version));
    writeFileSync(join(dir, version, 'token'), version);
  }
  symlinkSync('v1', join(dir, 'data'));
  const mounted = Secret.fromFile(join(dir, 'data/token'), (read) => reads.push(read));
  expect(mounted.reveal()).toBe('v1');
  symlinkSync('v2', join(dir, 'data.new'));
  renameSync(join(dir, 'data.new'), join(dir, 'data'));
  expect(mounted.reveal()).toBe('v2');
  expect(reads.map(({ isReplaced }) => isReplaced)).toEqual([false, true, false, true]);
});

test('the age of a file is that of its content: an equal rewrite keeps the age', () => {
  const file = join(tempDir(), 'token');
  const reads: SecretRead[] = [];
  const secret = Secret.fromFile(file, (read) => reads.push(read));
  const use = (contents: string, day: string): void => {
    writeFileSync(file, contents);
    utimesSync(file, new Date(day), new Date(day));
    secret.reveal();
    secret.reveal();
  };
  use('first', '2026-01-01');
  use('first', '2026-02-01');
  use('second', '2026-03-01');
  expect(reads).toEqual([
    { writtenAt: Date.parse('2026-01-01'), isReplaced: false },
    { writtenAt: Date.parse('2026-03-01'), isReplaced: true },
  ]);
});

test('a missing or empty file is an error that names the path alone', () => {
  const file = join(tempDir(), 'token');
  writeFileSync(file, CANARY);
  const secret = Secret.fromFile(file);
  expect(secret.reveal()).toBe(CANARY);
  writeFileSync(file, ' \n');
  expect(() => secret.reveal()).toThrow(`secret file ${file} is empty`);
  rmSync(file);
  expect(() => secret.reveal()).toThrow(/ENOENT.*token/);
});

test('a log line has no credential, in any field, message or cause', () => {
  let logged = '';
  const logger = createLogger({ level: 'debug', destination: { write: (line) => (logged += line) } });
  const cause = new Error(`refused https://ops:${CANARY}@db.example/?sig=${CANARY}`);
  const err = new Error('outer', { cause: new AggregateError([cause], `Authorization: Bearer ${CANARY}`, { cause }) });
  logger.child({ bearer: CANARY }).error({ err, header: ['x-api-key', CANARY] }, `%s and token=${CANARY}`, 'text');
  logger.warn({ deep: { header: { name: 'Cookie', value: CANARY }, query: `a=1&token%3D${CANARY}` }, id: 'wfr_1' });
  expect(logged).not.toContain(CANARY);
  expect(logged).toContain('db.example');
  expect(logged).toContain('"id":"wfr_1"');
});
