import { expect, test } from 'vitest';
import { ownCommand, shellWord } from '#foundation/domain/own-command.ts';

test.each([
  [{}, [], 'opsd approve 9f3c2a'],
  [{}, ['--socket', '/run/opsd.sock'], 'opsd approve 9f3c2a --socket /run/opsd.sock'],
  [{ npm_lifecycle_event: 'opsd' }, [], 'npm run --silent opsd -- approve 9f3c2a'],
  [{ npm_lifecycle_event: 'start' }, ['--socket', '/a b'], "npm run --silent opsd -- approve 9f3c2a --socket '/a b'"],
  [{ npm_lifecycle_event: 'test' }, [], 'opsd approve 9f3c2a'],
])('a command is printed as this process was started: %o %o', (env, daemon, text) => {
  expect(ownCommand(env, daemon)('approve 9f3c2a')).toBe(text);
});

test('a word is one word for a shell', () => {
  expect(shellWord('https://app.example.com/x')).toBe('https://app.example.com/x');
  expect(shellWord("x'; reboot")).toBe(String.raw`'x'\''; reboot'`);
  expect(shellWord('')).toBe("''");
});
