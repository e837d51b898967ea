import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCredentialName, mayNameCredential } from '#foundation/domain/credential-names.ts';
import { rememberSecret } from '#foundation/domain/known-secrets.ts';
import { MASK, redact, redactData, redactKept } from '#foundation/domain/redact.ts';

const CANARY = 'cAnArY7w9Qx2';

test('a kept text hides a credential that is learned later', () => {
  const text = `${'plain words '.repeat(100)}of-a-rotation-7Kq2`;
  expect([redactKept(text), redactData({ text })]).toEqual([text, { text }]);
  rememberSecret('of-a-rotation-7Kq2');
  expect(redactKept(text)).toContain(MASK);
  expect(redactData({ text }).text).toContain(MASK);
});

test.each([2, 100])('each line of a file of %i keys is hidden', (count) => {
  const keys = Array.from({ length: count }, (_, index) => `${count}-${index}-key-`.padEnd(64, 'a1b2'));
  rememberSecret(keys.join('\n'));
  for (const key of keys) expect(redact(`before ${key} after`)).toBe('before [secret] after');
});

describe('redact', () => {
  test.each([
    ['https://a.example/x?token=s#f', 'https://a.example/x'],
    ['https://user:pa@ss@a.example:8443/x', 'https://[secret]@a.example:8443/x'],
    ['HTTPS://user@a.example?t=s', 'HTTPS://[secret]@a.example'],
    ['https://a.example/~ann@home/x', 'https://a.example/~ann@home/x'],
    ['halted https://a/x?s and "http://b:c@d/#s"', 'halted https://a/x and "http://[secret]@d/"'],
    ['who? ann@example.com', 'who? ann@example.com'],
    ['postgres://ann:pw@db:5432/x failed', 'postgres://[secret]@db:5432/x failed'],
    ['https://ann:pa/ss@db.example/x', 'https://[secret]@db.example/x'],
    ['ann:pw@db.example:5432', '[secret]@db.example:5432'],
    ['(https://a.example/x?sig=s), then', '(https://a.example/x), then'],
    ['password=true-love', `password=${MASK}`],
    ['token=REDACTED-not', `token=${MASK}`],
    ['Bearer authentication is required', 'Bearer authentication is required'],
    ['Authorization: Bearer abc.def rejected', `Authorization: ${MASK} rejected`],
    ['Cookie: a=b; c=d', `Cookie: ${MASK}`],
    ['{"password":"a\\"b","id":"wfr_1"}', `{"password":"${MASK}","id":"wfr_1"}`],
    ['{\\"token\\": \\"abc\\", \\"id\\": 5}', `{\\"token\\": \\"${MASK}\\", \\"id\\": 5}`],
    ['POST /v2/x?key=abc&count=5 failed', `POST /v2/x?key=${MASK}&count=5 failed`],
    ['/x?a=1&sig%3Dabc', '/x?a=1&sig=' + MASK],
    ['https%3A%2F%2Fu%3Ap%40h.example%2Fx', 'https://[secret]@h.example/x'],
    ['%2574oken%253Dabc', `token=${MASK}`],
    ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc', `jwt ${MASK}`],
  ])('shows %j as %j', (text, shown) => {
    expect(redact(text)).toBe(shown);
  });

  test.each([
    'get-log https://api.example:8080/v2/logs: the service failed with status 503 (code=ECONNREFUSED)',
    'accounts[0].token: required key is missing',
    'account shop, policy retry-crm, run wfr_2Fa81b, entry 01J8-x/7, flow control key: crm',
    'the token is missing; write token: ${env:TOKEN}',
    'tokenFile: ./secrets/token',
    'at 2026-11-22T10:30:00Z 12 of 300 at http://[::1]:80/x and 10.0.0.7:443',
    'https://host.example:8443/path/%20/with%2Fescapes',
  ])('keeps %j', (text) => {
    expect(redact(text)).toBe(text);
  });

  /** Places of a credential. The surrounding text is arbitrary. */
  const PLANTED: readonly ((secret: string) => string)[] = [
    (secret) => `https://ops:${secret}@host.example/x`,
    (secret) => `amqp://${secret}@host.example:5672`,
    (secret) => `https://host.example/x?sig=${secret}&a=1`,
    (secret) => `https://host.example/x?anything=${secret}`,
    (secret) => `https://host.example/x#access_token=${secret}`,
    (secret) => `/v2/x?a=1&token=${secret}`,
    (secret) => `ops:${secret}@host.example`,
    (secret) => `Authorization: Basic ${secret}`,
    (secret) => `authorization=Bearer ${secret}`,
    (secret) => `Set-Cookie: session=1; id=${secret}; Path=/`,
    (secret) => `Bearer ${secret}`,
    (secret) => `{"client_secret":"${secret}"}`,
    (secret) => `{"private": "${secret}"}`,
    (secret) => JSON.stringify({ body: JSON.stringify({ pw: secret }) }),
    (secret) => `bearer: '${secret}'`,
    (secret) => `X-Api-Key => ${secret}`,
    (secret) => `AccountKey=${secret};Host=x`,
    (secret) => `'headers': {'x-amz-security-token': '${secret}'}`,
    (secret) => `-----BEGIN EC PRIVATE KEY-----\n${secret}\n-----END EC PRIVATE KEY-----`,
  ];
  const around = fc.string({ unit: fc.constantFrom(...'abz 09,.\n"\'=:/?&%@\\{}[]()<>é'.split('')), maxLength: 40 });

  test('hides a credential in any place, also when it was encoded once or twice', () => {
    fc.assert(
      fc.property(
        around,
        fc.constantFrom(...PLANTED),
        fc.stringMatching(/^[A-Za-z0-9]{3,20}$/),
        fc.nat({ max: 2 }),
        around,
        (before, plant, part, times, after) => {
          let planted = plant(CANARY + part);
          for (let done = 0; done < times; done++) planted = encodeURIComponent(planted);
          expect(redact(`${before} ${planted} ${after}`)).not.toContain(CANARY);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('changes nothing more when it is applied again', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PLANTED), (plant) => {
        const once = redact(`before ${plant(CANARY)} after`);
        expect(redact(once)).toBe(once);
      }),
    );
  });

  test('keeps ids, hosts and paths', () => {
    const id = fc.stringMatching(/^(?:msg|wfr|dlq)_[A-Za-z0-9]{10,30}$/);
    const host = fc.stringMatching(/^[a-z]{2,10}\.(?:vendor|internal)\.example(?::\d{2,5})?$/);
    const path = fc.stringMatching(/^(?:\/[a-z0-9._~@:-]{1,8}){0,4}$/);
    fc.assert(
      fc.property(id, host, path, (entry, at, tail) => {
        const text = `POST https://${at}${tail} failed with status 503 for ${entry} of policy retry-5xx: no answer`;
        expect(redact(text)).toBe(text);
      }),
    );
  });

  test.each([
    'sk_live_0123456789abcdef',
    'rk_test_0123456789abcdef',
    'ghp_0123456789abcdef',
    'github_pat_0123456789abcdef',
    'xoxb-0123456789abcdef',
    'glpat-0123456789abcdef',
    'AKIA0123456789ABCDEF',
    'AIza0123456789abcdef',
    'sig_0123456789abcdef',
    '$2b$12$abcdefghijklmnop',
    'Hawk abc123',
    'Digest abc123',
    'Negotiate abc123+',
  ])('hides %s in a text without any other sign of a credential', (secret) => {
    expect(redact(`sent ${secret} to x`)).toContain(MASK);
  });

  test('before a cut hides a credential at the cut, in any place', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 700 }),
        fc.constantFrom(' ', '/', 'x', ''),
        fc.constantFrom(...PLANTED),
        fc.constantFrom(1, 30, 80),
        (length, part, plant, times) => {
          const before = part === '' ? '' : `${part.repeat(length)} `;
          const text = `${before}${plant(CANARY.repeat(times))} ${'after '.repeat(200)}`;
          const shown = redact(text, 300);
          expect(shown).not.toContain(CANARY.slice(0, 8));
          expect(shown.length).toBeLessThanOrEqual(301);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('before a cut reads as much as it shows, and keeps one long word', () => {
    const url = `https://app.example.com/${'a'.repeat(30_000)}`;
    expect(redact(url, 100)).toBe(`${url.slice(0, 100)}…`);
    expect(redact(`https://ops:${'p'.repeat(30_000)}@host.example/x`, 100)).toBe('…');
    expect(redact('short', 100)).toBe('short');
  });

  test('cuts a long text before a possible half of a credential', () => {
    const shown = redact(`${'x '.repeat(32_760)}https://ops:${CANARY.repeat(20)}@host.example/`);
    expect(shown.length).toBeLessThan(65_600);
    expect(shown).not.toContain(CANARY);
  });

  test.each([
    'token=',
    'a://',
    'a:b@',
    'a://b:c/',
    'eyJ-',
    '"token": "',
    'Bearer ',
    '%74',
    '-----BEGIN PRIVATE KEY-----',
    '\\',
    'x',
    '=',
    ',a:',
  ])('reads 65,536 characters of %j without backtracking', (part) => {
    // A pattern that backtracks would keep this test from ending.
    expect(redact(part.repeat(65_536 / part.length)).length).toBeLessThan(200_000);
  });
});

describe('redactData', () => {
  test('hides values by the names of their fields, in pairs and in nested causes', () => {
    const data = {
      token: CANARY,
      nested: [{ cause: { 'X-Api-Key': CANARY, detail: `password=${CANARY}` } }],
      header: { name: 'Authorization', value: CANARY },
      headers: [['cookie', CANARY]],
      [`https://u:${CANARY}@h.example`]: 1,
      pin: { toJSON: () => `Bearer ${CANARY}` },
    };
    const shown = redactData(data);
    expect(JSON.stringify(shown)).not.toContain(CANARY);
    expect(shown.header.name).toBe('Authorization');
  });

  test('keeps everything else unchanged', () => {
    const data = {
      key: 'held/p',
      credential: 'token',
      tokens: 5,
      isSecret: true,
      none: null,
      list: [1, 'a'],
      deep: {},
    };
    expect(redactData(data)).toEqual(data);
  });
});

describe('names', () => {
  test.each([
    'token',
    'accessToken',
    'X-Amz-Signature',
    'client_secret',
    'bearer',
    'pw',
    'JSESSIONID',
    'storage-account-key',
    'set-cookie',
  ])('%s names a credential', (name) => {
    expect(isCredentialName(name)).toBe(true);
  });
  test.each(['private', 'sessionData', 'key', 'code', 'X-Auth', 'pin'])('%s may name one', (name) => {
    expect([isCredentialName(name), mayNameCredential(name)]).toEqual([false, true]);
  });
  test.each(['tokenFile', 'author', 'design', 'flowControlKey', 'idempotency-key', 'policy', 'runId', 'path'])(
    '%s names none that is always hidden',
    (name) => {
      expect(isCredentialName(name)).toBe(false);
    },
  );
});
