/** Equal faults have equal reasons, whatever their ids, numbers and values. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { incidentReason, maskedText } from '#foundation/domain/incident-reason.ts';

test.each([
  [503, undefined, 'HTTP 503'],
  [503, 'upstream 10.0.3.7:8080 is unavailable', 'HTTP 503: upstream # is unavailable'],
  [404, 'order 8123 not found', 'HTTP 404: order # not found'],
  [404, 'order 3f2a91bc-0d5e-4c11-9c1a-0123456789ab not found', 'HTTP 404: order # not found'],
  [422, '{"error":{"code":"card_declined","id":"ch_3f9a88"}}', 'HTTP 422: card_declined'],
  [422, '{"message":"amount 12.50 exceeds limit","requestId":"a1"}', 'HTTP 422: amount # exceeds limit'],
  [500, "TypeError: Cannot read 'total' of undefined", 'HTTP 500: TypeError: Cannot read … of undefined'],
  [500, 'duplicate key "users_email"', 'HTTP 500: duplicate key …'],
  [502, '<html><head><title>502 Bad Gateway</title></head></html>', 'HTTP 502: # Bad Gateway'],
  [500, 'segfault at 0x7ffde31a', 'HTTP 500: segfault at #'],
  [500, 'user anna@example.com is locked', 'HTTP 500: user # is locked'],
  [undefined, 'ECONNREFUSED 10.1.2.3:443', 'connection: ECONNREFUSED #'],
  [undefined, undefined, 'no response'],
  [undefined, 'timed out after 30s', 'timeout: timed out after #s'],
])('status %s with %j', (status, text, reason) => {
  expect(incidentReason(status, text)).toBe(reason);
});

test('a text of JSON without a known field keeps the names of its fields', () => {
  expect(maskedText('{"weather": "rain", "level": 5}')).toBe('{weather: …, level: #}');
});

test('masking again changes nothing, no number stays, and the length is bounded', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 500 }),
    fc
      .array(
        fc.constantFrom(
          'order',
          '12',
          'a1b2c3d4e5f6',
          '"x"',
          "'y'",
          '…',
          '#',
          '/',
          'it’s',
          '0x1f',
          '<b>',
          '{"error":"',
        ),
      )
      .map((words) => words.join(' ')),
  );
  fc.assert(
    fc.property(text, (given) => {
      const masked = maskedText(given);
      expect(masked).not.toMatch(/\d/);
      expect(masked.length).toBeLessThanOrEqual(80);
    }),
  );
});

test('the values that differ between two failures do not matter', () => {
  const value = fc.oneof(fc.uuid(), fc.nat().map(String), fc.constantFrom('deadbeef01', '"anything else"', '`x`'));
  fc.assert(
    fc.property(value, value, (one, other) => {
      const masked = (text: string) => maskedText(`cannot load ${text} now`).replace('…', '#');
      expect(masked(one)).toBe(masked(other));
    }),
  );
});
