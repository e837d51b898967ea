import { expect, test } from 'vitest';
import { concerns } from '#automate/ledger/deploys.ts';

test.each([
  ['https://a.example/api/', 'https://a.example/api/x', true],
  ['https://a.example/api', 'https://a.example/api/x', true],
  ['https://a.example/api', 'https://a.example/api', true],
  ['https://a.example/api', 'https://a.example/api?x=1', true],
  ['https://a.example/api', 'https://a.example/apis', false],
  ['https://a.example/api/', 'https://a.example/api', false],
  ['https://a.example', 'https://a.example/x', true],
  ['https://a.example', 'https://a.example.evil.test/x', false],
  ['https://a.example', 'https://a.example:8443/x', false],
  ['https://a.example', 'http://a.example/x', false],
  ['a.example', 'http://a.example/x', true],
  ['a.example', 'https://a.example', true],
  ['a.example', 'https://b.a.example/x', false],
  ['a.example', 'not a URL', false],
])('a deploy of %s concerns %s: %s', (prefix, url, isConcerned) => {
  expect(concerns({ of: [prefix] }, url)).toBe(isConcerned);
  expect(concerns({ of: ['https://other.example/', prefix] }, url)).toBe(isConcerned);
});
