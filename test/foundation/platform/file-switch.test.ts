import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileSwitch } from '#foundation/platform/file-switch.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { unprivileged } from '../../support/unprivileged.ts';

test('a file is a switch: set while it exists', () => {
  const path = join(tempDir(), 'PAUSE');
  expect(fileSwitch(path)).toBeUndefined();
  writeFileSync(path, '');
  expect(fileSwitch(path)).toBe(`${path} exists`);
  rmSync(path);
  mkdirSync(path);
  expect(fileSwitch(path)).toBe(`${path} exists`);
});

test('a folder that does not exist has no switch', () => {
  expect(fileSwitch(join(tempDir(), 'none/deeper/PAUSE'))).toBeUndefined();
});

test('a dangling link is set, and so is one that leads to itself', () => {
  const folder = tempDir();
  const path = join(folder, 'PAUSE');
  symlinkSync(join(folder, 'none'), path);
  expect(fileSwitch(path)).toBe(`${path} exists`);
  rmSync(path);
  symlinkSync(path, path);
  expect(fileSwitch(path)).toBe(`${path} exists`);
});

test('a switch in a folder that is a dangling link is set', () => {
  const folder = tempDir();
  symlinkSync(join(folder, 'none'), join(folder, 'mount'));
  const path = join(folder, 'mount', 'switches', 'PAUSE');
  expect(fileSwitch(path)).toBe(`${path} cannot be checked: ${join(folder, 'mount')} is a dangling link`);
  mkdirSync(join(folder, 'none'));
  expect(fileSwitch(path)).toBeUndefined();
});

test('an unreadable switch is set', async () => {
  const folder = tempDir();
  writeFileSync(join(folder, 'file'), '');
  expect(fileSwitch(join(folder, 'file', 'PAUSE'))).toMatch(/cannot be checked \(ENOTDIR\)/);
  const closed = join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o000);
  // Only root can remove a folder that is closed.
  onTestFinished(() => chmodSync(closed, 0o700));
  await unprivileged(() => expect(fileSwitch(join(closed, 'PAUSE'))).toMatch(/\(EACCES\)/));
});
