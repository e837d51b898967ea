import { expect, test } from 'vitest';
import { ownCommand, shellWord, withOwnCommands } from '#foundation/domain/own-command.ts';

const CHECKOUT = { npm_lifecycle_event: 'opsd', npm_package_name: 'msgsvc-opsd' };

test.each([
  [{}, [], 'opsd approve 9f3c2a'],
  [{}, ['--socket', '/run/opsd.sock'], 'opsd approve 9f3c2a --socket /run/opsd.sock'],
  [CHECKOUT, [], 'npm run --silent opsd -- approve 9f3c2a'],
  [
    { ...CHECKOUT, npm_lifecycle_event: 'start' },
    ['--socket', '/a b'],
    "npm run --silent opsd -- approve 9f3c2a --socket '/a b'",
  ],
  [{ npm_lifecycle_event: 'npx' }, [], 'npx --no msgsvc-opsd approve 9f3c2a'],
  [{ npm_lifecycle_event: 'start', npm_package_name: 'shop' }, [], 'npx --no msgsvc-opsd approve 9f3c2a'],
])('a command is printed as this process was started: %o %o', (env, daemon, text) => {
  expect(ownCommand(env, daemon)('approve 9f3c2a')).toBe(text);
});

test('commands in the texts of a value are rewritten, and no other part of it', () => {
  const command = ownCommand(CHECKOUT, ['--socket', '/s']);
  const value = { a: ['x; `opsd plan p` or `opsd pause`', 1, null, true], b: { c: 'opsd plan p, `other`, `opsd`' } };
  const own = (words: string): string => `\`npm run --silent opsd -- ${words} --socket /s\``;
  const expected = { ...value, a: [`x; ${own('plan p')} or ${own('pause')}`, 1, null, true] };
  expect(withOwnCommands(value, command)).toEqual(expected);
});

test('a word is one word for a shell', () => {
  expect(shellWord('https://app.example.com/x')).toBe('https://app.example.com/x');
  expect(shellWord("x'; reboot")).toBe(String.raw`'x'\''; reboot'`);
  expect(shellWord('')).toBe("''");
});
