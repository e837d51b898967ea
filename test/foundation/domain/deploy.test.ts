/** Which URLs a deploy is about. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concerns, deployedPart, isAboutFailures, type Deploy } from '#foundation/domain/deploy.ts';

test.each([
  ['app.example.com', 'https://app.example.com/api/a?x=1', true],
  ['app.example.com', 'http://app.example.com/', true],
  ['app.example.com', 'https://app.example.com:8443/', false],
  ['app.example.com', 'https://app.example.com.evil.example/', false],
  ['app.example.com', 'https://xapp.example.com/', false],
  ['APP.example.com/api', 'https://app.example.com/api', true],
  ['app.example.com/api', 'https://app.example.com/apiary', false],
  ['https://app.example.com/api/', 'https://app.example.com/api/a', true],
  ['https://app.example.com/api/', 'https://app.example.com/api', false],
  ['https://app.example.com', 'http://app.example.com/', false],
  ['https://app.example.com:443/', 'https://app.example.com/x', true],
  ['https://app.example.com', 'no url', false],
])('%s is about %s: %s', (part, url, expected) => {
  expect(concerns({ of: [deployedPart(part)!] }, url)).toBe(expected);
});

test('is about every URL below its part, on a boundary only', () => {
  const segment = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  fc.assert(
    fc.property(segment, segment, segment, (first, second, third) => {
      const of = [deployedPart(`https://app.example.com/${first}`)!];
      expect(concerns({ of }, `https://app.example.com/${first}/${second}/${third}`)).toBe(true);
      expect(concerns({ of }, `https://app.example.com/${first}${second}`)).toBe(false);
    }),
  );
});

test.each([
  '',
  '/api',
  'ftp://app.example.com',
  'https://u:p@app.example.com',
  'a b',
  'app.example.com/?q',
  'a'.repeat(1_001),
])('rejects %j', (text) => {
  expect(deployedPart(text)).toBeUndefined();
});

describe('without a known URL, the place of the failures decides', () => {
  test.each([
    ['app.example.com', true],
    ['app.example.com/api/orders', true],
    ['other.example.com', true],
    ['other.example.com/x/y', true],
    ['other.example.com/y', false],
    ['example.com', false],
    ['a queue', false],
  ])('%s: %s', (place, expected) => {
    const of = ['https://app.example.com/api/', 'other.example.com/x'];
    expect(isAboutFailures({ of, at: 5 } as unknown as Deploy, { place }, [])).toBe(expected);
  });
});

test('with known URLs, one of them decides; a deploy after the end is about nothing', () => {
  const deploy = { of: ['app.example.com/api'], at: 5 } as unknown as Deploy;
  const urls = ['https://app.example.com/web', 'https://app.example.com/api/a'];
  const place = 'app.example.com';
  expect(isAboutFailures(deploy, { place }, urls)).toBe(true);
  expect(isAboutFailures(deploy, { place }, urls.slice(0, 1))).toBe(false);
  expect(isAboutFailures(deploy, { place, resolvedAt: 5 }, urls)).toBe(true);
  expect(isAboutFailures(deploy, { place, resolvedAt: 4 }, urls)).toBe(false);
});
