/** Filters on destinations and statuses as people type them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NewestFailures, MOST_FAILURES } from '#foundation/domain/newest-failures.ts';
import { STATUS_FORM, statusFilter, urlFilter } from '#foundation/domain/typed-filters.ts';

const URL = 'https://billing.example/v1/charges?page=2';

test.each([
  'billing.example',
  'Billing.Example',
  ' billing.example ',
  'https://billing.example',
  'HTTPS://billing.example/',
  'billing.example/',
  'billing.example/v1',
  'billing.example/v1/ch',
  'https://billing.example/v1/charges',
  'billing.example/v1/charges?page=2',
])('%j finds the URL', (text) => {
  expect(urlFilter(text)(URL)).toBe(true);
});

test.each([
  'billing.exam',
  'billing',
  'illing.example',
  'http://billing.example',
  'billing.example/V1',
  'billing.example:8080',
  'billing.example.com',
  'v1/charges',
  '/',
  '%',
  '.*',
])('%j does not find it', (text) => {
  expect(urlFilter(text)(URL)).toBe(false);
});

test('a host never finds a longer host, and finds its ports and user info', () => {
  const host = urlFilter('billing.example');
  expect(['https://billing.example.evil/', 'https://billing.examples/'].map(host)).toEqual([false, false]);
  expect(['http://billing.example:8080/x', 'https://u:p@billing.example', 'billing.example/x'].map(host)).toEqual([
    true,
    true,
    true,
  ]);
  expect(urlFilter('[::1]:80')('http://[::1]:80/x')).toBe(true);
});

test('every URL is found by itself, by its host and by each beginning of its path', () => {
  const text = fc.webUrl({ withQueryParameters: true, withFragments: true });
  fc.assert(
    fc.property(text, fc.nat(), (url, cut) => {
      const path = url.indexOf('/', 8) === -1 ? url.length : url.indexOf('/', 8);
      expect(urlFilter(url)(url)).toBe(true);
      expect(
        urlFilter(
          url
            .slice(0, path)
            .split(/[?#]/, 1)[0]!
            .slice(url.indexOf('://') + 3),
        )(url),
      ).toBe(true);
      if (path < url.length) expect(urlFilter(url.slice(0, path + 1 + (cut % (url.length - path))))(url)).toBe(true);
    }),
  );
});

test('a status is exact, a class has its hundred', () => {
  expect([499, 500, 503, 599, 600].map(statusFilter('5xx'))).toEqual([false, true, true, true, false]);
  expect([500, 503].map(statusFilter('503'))).toEqual([false, true]);
  expect(['5XX', '404', '6xx', '5x', '50', 'xxx', '-503', '5034', ''].map((text) => STATUS_FORM.test(text))).toEqual([
    true,
    true,
    ...Array<boolean>(7).fill(false),
  ]);
});

test('the newest failure of each message is kept, whatever the order, and the end before an attempt of its time', () => {
  const entry = (messageId: string, time: number, state: 'ERROR' | 'FAILED' = 'ERROR') =>
    ({ messageId, time, state, labels: [] }) as const;
  const failures = new NewestFailures();
  for (const one of [entry('a', 5, 'FAILED'), entry('a', 5), entry('a', 3), entry('b', 9), entry('b', 7)]) {
    failures.add(one);
  }
  expect(failures.newest()).toEqual([entry('b', 9), entry('a', 5, 'FAILED')]);
  for (let time = 1_000; time > 100; time -= 1) failures.add(entry(`m${time}`, time));
  expect(failures.newest()).toHaveLength(MOST_FAILURES);
  expect(failures.newest().at(-1)).toEqual(entry('m901', 901));
});
