/** Messages that are published again: what their callbacks reported, and nothing that belongs to the publisher alone. */
import { expect, test } from 'vitest';
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import type { PublishAgain } from '#service/api.ts';
import { publishAgainRequest } from '#service/publish-again.ts';
import { wireSettings } from '#service/settings.ts';
import { wireNames } from '#service/wire-names.ts';

const NAMES = wireNames(wireSettings.parse({}));
const HOOK = { url: 'https://hooks.example.com/callbacks', forward: { Authorization: 'Bearer hook' } };

function request(message: Partial<CarriedMessage> = {}, again: Partial<PublishAgain> = {}) {
  return publishAgainRequest(
    { url: 'https://app.example.com/hook?key=1', method: 'PUT', headers: {}, body: Buffer.from([0, 255]), ...message },
    { labels: ['stamp', 'a%2Cb'], retries: 0, deduplicationId: 'id-1', failureCallback: HOOK, ...again },
    { names: NAMES, isOwn: (text) => text.includes('token-of-the-account') },
  );
}

test('the headers of a delivery are forwarded, without those of the connection', () => {
  const headers = {
    'Content-Type': ['text/plain'],
    Host: ['app.example.com'],
    'Content-Length': ['2'],
    Authorization: ['Bearer of the destination'],
    'X-Many': ['1', '2'],
  };
  const made = request({ headers });
  expect(made.path).toBe('/v2/publish/https://app.example.com/hook?key=1');
  expect(made.body).toEqual(Buffer.from([0, 255]));
  expect(made.headers).toEqual({
    'Content-Type': 'text/plain',
    'Svc-Method': 'PUT',
    'Svc-Retries': '0',
    'Svc-Label': 'stamp,a%2Cb',
    'Svc-Deduplication-Id': 'id-1',
    'Svc-Forward-Authorization': 'Bearer of the destination',
    'Svc-Forward-X-Many': '1, 2',
    'Svc-Failure-Callback': HOOK.url,
    'Svc-Failure-Callback-Forward-Authorization': 'Bearer hook',
  });
  for (const secret of ['Bearer of the destination', 'Bearer hook', '?key=1']) expect(made.hidden).toContain(secret);
});

test('a credential of the account is not forwarded, whatever header has it', () => {
  const headers = {
    Authorization: ['Bearer token-of-the-account'],
    'X-Key': ['token-of-the-account'],
    'X-Note': ['kept'],
  };
  const made = request({ headers });
  expect(made.headers).toMatchObject({ 'Svc-Forward-X-Note': 'kept' });
  expect(JSON.stringify(made.headers)).not.toContain('token-of-the-account');
});

test('of a publish request only the forwarded headers are, and not the credentials of the publisher', () => {
  const made = request({
    headers: {
      authorization: ['Bearer of the service'],
      'svc-forward-x-note': ['kept'],
      'svc-flow-control-key': ['shop'],
      'svc-flow-control-value': ['parallelism=4'],
      'svc-timeout': ['30s'],
      'svc-delay': ['1h'],
      'svc-retries': ['5'],
      'svc-deduplication-id': ['old'],
      'svc-label': ['old'],
      'svc-failure-callback': ['https://other.example.com'],
      'svc-failure-callback-forward-authorization': ['Bearer other'],
    },
  });
  const lower = Object.fromEntries(Object.entries(made.headers).map(([name, value]) => [name.toLowerCase(), value]));
  expect(lower).toEqual({
    'svc-method': 'PUT',
    'svc-retries': '0',
    'svc-label': 'stamp,a%2Cb',
    'svc-deduplication-id': 'id-1',
    'svc-forward-x-note': 'kept',
    'svc-flow-control-key': 'shop',
    'svc-flow-control-value': 'parallelism=4',
    'svc-timeout': '30s',
    'svc-failure-callback': 'https://other.example.com',
    'svc-failure-callback-forward-authorization': 'Bearer other',
  });
});

test('changed headers replace those of any case, and an empty one is removed', () => {
  const headers = { 'content-type': ['text/plain'], 'x-note': ['old'], 'X-Gone': ['old'] };
  const changed = { 'X-Note': 'new', 'x-gone': '', 'Content-Type': 'application/json' };
  const made = request({ headers, changed });
  expect(made.headers).toMatchObject({ 'Content-Type': 'application/json', 'Svc-Forward-X-Note': 'new' });
  expect(JSON.stringify(made.headers)).not.toContain('old');
});

test.each([
  ['a method that the service does not deliver', { method: 'TRACE' }, /method/],
  ['a header with a line break', { headers: { 'X-A': ['a\nb'] } }, /X-A/],
  ['a redacted header', { headers: { 'X-A': ['REDACTED:0'] } }, /redacted/],
  ['a URL with a fragment', { url: 'https://app.example.com/#a' }, /fragment/],
])('%s is refused before anything is sent', (_what, message, why) => {
  expect(() => request(message)).toThrow(why);
});
