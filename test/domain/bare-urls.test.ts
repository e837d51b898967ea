import { expect, test } from 'vitest';
import { bareUrls } from '../../src/domain/bare-urls.ts';

test.each([
  ['https://a.example/x?token=s#f', 'https://a.example/x'],
  ['https://user:pa@ss@a.example:8443/x', 'https://a.example:8443/x'],
  ['HTTPS://user@a.example?t=s', 'HTTPS://a.example'],
  ['https://a.example/~ann@home/x', 'https://a.example/~ann@home/x'],
  ['halted https://a/x?s and "http://b:c@d/#s"', 'halted https://a/x and "http://d/"'],
  ['who? ann@example.com', 'who? ann@example.com'],
])('%s is shown as %s', (text, shown) => {
  expect(bareUrls(text)).toBe(shown);
});
