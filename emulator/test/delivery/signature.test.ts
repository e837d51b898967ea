/** Signatures, as a receiver checks them: fixed vectors, real deliveries, and the code in the documentation. */
import { execFileSync } from 'node:child_process';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { signDelivery } from '#emulator/delivery/signature.ts';
import { SigningKeyRing } from '#emulator/state/signing-keys.ts';
import { httpSink, type SunkRequest } from '../../../test/support/http-sink.ts';
import { ACCOUNT, START, TOKEN, world } from '../world.ts';

const KEYS = { current: 'key-of-now', next: 'key-of-then' };
const DAY_SECONDS = 86_400;
const accounts = [{ id: ACCOUNT, token: TOKEN, signingKeys: KEYS }];

interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly body: string;
}

/** Returns the claims of a request whose signature was made with `key`. */
function claimsOf(request: SunkRequest, key: string): Claims {
  const token = String(request.headers['svc-signature']);
  const [head, claims, mac] = token.split('.') as [string, string, string];
  expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toEqual({ alg: 'HS256', typ: 'JWT' });
  expect(mac).toBe(createHmac('sha256', key).update(`${head}.${claims}`).digest('base64url'));
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Claims;
}

function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

describe('the token', () => {
  // Vectors of another implementation (Python's hmac and hashlib).
  test.each([
    [
      'hello',
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJtc2dzdmMiLCJzdWIiOiJodHRwczovL2EuZXhhbXBsZS94P3k9MSIsImlhdCI6MTc5NTE3NjAwMCwibmJmIjoxNzk1MTc2MDAwLCJleHAiOjE3OTUxNzYzMDAsImp0aSI6Im1zZ18xLjEiLCJib2R5IjoiTFBKTnVsLXdvdzRtNkRzcXhibmluaHNXSGx3ZnAwSmVjd1F6WXBPTG1DUSJ9.Yoz7uMcPeFoK9Zdc1zTLpcZlWh982YYef0kAFZ14tRc',
    ],
    [
      '',
      'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJtc2dzdmMiLCJzdWIiOiJodHRwczovL2EuZXhhbXBsZS94P3k9MSIsImlhdCI6MTc5NTE3NjAwMCwibmJmIjoxNzk1MTc2MDAwLCJleHAiOjE3OTUxNzYzMDAsImp0aSI6Im1zZ18xLjEiLCJib2R5IjoiNDdERVFwajhIQlNhLV9USW1XLTVKQ2V1UWVSa201Tk1wSldaRzNoU3VGVSJ9.qUMPt_RhGHQH_nx29_FLVpxWLxKsN6EGrViAHpZlE14',
    ],
  ])('of %j equals that of other implementations', (body, token) => {
    const signed = signDelivery('secret', {
      issuer: 'msgsvc',
      url: 'https://a.example/x?y=1',
      id: 'msg_1.1',
      body: Buffer.from(body),
      now: 1_795_176_000_999,
    });
    expect(signed).toBe(token);
  });
});

describe('keys', () => {
  test('are random when absent, and all differ', () => {
    const ring = new SigningKeyRing([{ id: 'a' }, { id: 'b', signingKeys: { current: 'mine' } }]);
    const all = [ring.of('a').current, ring.of('a').next, ring.of('b').next, ring.of('c').current];
    expect(new Set(all).size).toBe(4);
    for (const key of all) expect(key).toMatch(/^sig_[\w-]{32}$/);
    expect(ring.of('b').current).toBe('mine');
    expect(ring.of('c')).toBe(ring.of('c'));
  });

  test('an empty one is rejected', () => {
    expect(() => new SigningKeyRing([{ id: 'a', signingKeys: { next: '' } }])).toThrow('account a has an empty');
  });
});

describe('a delivery', () => {
  test('names issuer, destination, time and content, with another id for each attempt', async () => {
    const sink = await httpSink((_request, response) => void response.writeHead(500).end());
    const service = await world({ accounts });
    const url = `${sink.url}/orders?x=%20`;
    const headers = { 'Svc-Retries': '1', 'Svc-Retry-Delay': '60000' };
    expect((await service.call('POST', `/v2/publish/${url}`, { headers, body: 'hello' })).status).toBe(200);
    await service.drain();
    const at = START / 1_000;
    const [first, second] = sink.requests.map((request) => claimsOf(request, KEYS.current));
    const common = { iss: 'msgsvc', sub: url, body: hashOf(Buffer.from('hello')) };
    const id = sink.requests[0]!.headers['svc-message-id'];
    expect(first).toEqual({ ...common, iat: at, nbf: at, exp: at + 300, jti: `${String(id)}.1` });
    expect(second).toEqual({ ...common, iat: at + 60, nbf: at + 60, exp: at + 360, jti: `${String(id)}.2` });
  });

  test('callbacks, runs and messages without a body are signed too, with the names of the installation', async () => {
    const sink = await httpSink();
    const service = await world({ accounts, product: 'acme' });
    const headers = { 'Svc-Callback': `${sink.url}/callback` };
    expect((await service.call('POST', `/v2/publish/${sink.url}/message`, { headers })).status).toBe(200);
    expect((await service.call('POST', `/v2/trigger/${sink.url}/run`, { body: 'go' })).status).toBe(200);
    await service.drain();
    expect(sink.requests).toHaveLength(3);
    for (const request of sink.requests) {
      const claims = claimsOf(request, KEYS.current);
      expect(claims).toMatchObject({ iss: 'acme', sub: sink.url + request.url, body: hashOf(request.body) });
    }
  });

  test.each([
    ['real', 0],
    ['virtual', DAY_SECONDS],
  ] as const)('in %s time, a delayed message is valid at its time', async (signatureTime, lead) => {
    const sink = await httpSink();
    const service = await world({ accounts, time: 'virtual', startAt: START, switches: { signatureTime } });
    await service.call('POST', `/v2/publish/${sink.url}/`, { headers: { 'Svc-Delay': '1d' } });
    await service.emulator.advance(DAY_SECONDS * 1_000);
    // The machine's clock is at the start of the test.
    expect(claimsOf(sink.requests[0]!, KEYS.current).nbf).toBe(START / 1_000 + lead);
  });

  test('the issuer can be another than the product', async () => {
    const sink = await httpSink();
    const service = await world({ accounts, product: 'acme', issuer: 'Acme Corp' });
    await service.call('POST', `/v2/publish/${sink.url}/`);
    await service.emulator.idle();
    expect(claimsOf(sink.requests[0]!, KEYS.current).iss).toBe('Acme Corp');
  });

  test('is signed with the next key once that is current', async () => {
    const sink = await httpSink();
    const service = await world({ accounts });
    expect(service.emulator.signingKeys(ACCOUNT)).toEqual(KEYS);
    const rolled = service.emulator.rollSigningKeys(ACCOUNT);
    expect(rolled).toEqual({ current: KEYS.next, next: expect.stringMatching(/^sig_/) as string });
    await service.call('POST', `/v2/publish/${sink.url}/`);
    await service.emulator.idle();
    claimsOf(sink.requests[0]!, KEYS.next);
  });
});

describe('the lines of docs/emulator.md', () => {
  const doc = readFileSync(join(import.meta.dirname, '../../../docs/emulator.md'), 'utf8').split('## Signatures')[1]!;
  const blockOf = (language: string): string => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(doc)![1]!;

  interface Given {
    readonly headers: Readonly<Record<string, unknown>>;
    readonly body: string;
    readonly url: string;
    readonly key: string;
    readonly now: number;
  }

  const node = (all: readonly Given[]): readonly boolean[] => {
    const parameters = ['createHmac', 'createHash', 'timingSafeEqual', 'headers', 'body', 'url', 'key', 'now'];
    // oxlint-disable-next-line typescript/no-implied-eval -- the code of the documentation is under test
    const check = new Function(...parameters, `${blockOf('js')}\nreturn valid;`) as (...given: unknown[]) => boolean;
    return all.map(({ headers, body, url, key, now }) =>
      check(createHmac, createHash, timingSafeEqual, headers, body, url, key, now),
    );
  };

  const python = (all: readonly Given[]): readonly boolean[] => {
    const lines = blockOf('python').replaceAll(/^/gm, '  ');
    const program = `import hmac, json, sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
results = []
for given in json.load(sys.stdin):
  headers, body, url, key, now = given["headers"], given["body"].encode(), given["url"], given["key"], given["now"]
${lines}
  results.append(valid)
print(json.dumps(results))`;
    const output = execFileSync('python3', ['-c', program], { input: JSON.stringify(all), encoding: 'utf8' });
    return JSON.parse(output) as readonly boolean[];
  };

  test('in Python: accepts a delivery, and nothing else', async () => {
    expect(python(await deliveries())).toEqual(ONLY_THE_FIRST);
  });

  test('in Node: accepts a delivery, and nothing else', async () => {
    expect(node(await deliveries())).toEqual(ONLY_THE_FIRST);
  });

  const ONLY_THE_FIRST = [true, false, false, false, false, false];

  /** Returns a real delivery, and copies in which one part is changed. */
  async function deliveries(): Promise<readonly Given[]> {
    const sink = await httpSink();
    const service = await world({ accounts });
    const url = `${sink.url}/orders`;
    await service.call('POST', `/v2/publish/${url}`, { body: 'hello' });
    await service.emulator.idle();
    const now = START / 1_000;
    const given = { headers: sink.requests[0]!.headers, body: 'hello', url, key: KEYS.current, now };
    return [
      given,
      { ...given, body: 'Hello' },
      { ...given, url: `${url}/` },
      { ...given, key: KEYS.next },
      { ...given, now: now + 300 },
      { ...given, now: now - 1 },
    ];
  }
});
