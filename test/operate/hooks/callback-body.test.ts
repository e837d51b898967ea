/** Bodies in failure callbacks: which of them are kept, and why others are not. */
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { BODY, failureCallback, hookWorld, QUERY } from './hook-world.ts';

const MAX = 1_024;
const limits = { keep: 60_000, maxBytes: MAX, maxTotal: 1_048_576 };
const MARK = `REDACTED:${createHash('sha256').update('x').digest('hex')}`;
const base64 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64');

async function kept(overrides: Readonly<Record<string, unknown>>) {
  const w = await hookWorld({ bodies: limits });
  expect((await w.callback(failureCallback(overrides))).status).toBe(202);
  // The dead letter is stored in any case.
  expect(w.deadLetters).toHaveLength(1);
  const { content, ...facts } = w.bodies.get('dlq-1')!;
  const text = content === undefined ? undefined : Buffer.from(content);
  const end = text?.indexOf(10) ?? -1;
  const events = w.said.filter(({ type }) => type === 'body.received');
  return {
    w,
    facts,
    head: text && (JSON.parse(text.subarray(0, end).toString()) as object),
    body: text?.subarray(end + 1),
    events,
  };
}

test('a body is kept with headers, complete URL and what the callback says about the message', async () => {
  const { facts, head, body, events } = await kept({ endpointName: 'first', scheduleId: 'scd-1' });
  expect(facts).toEqual({ size: BODY.length, limits });
  expect(body?.toString()).toBe(BODY);
  expect(head).toEqual({
    url: `https://user:pass@app.example.com/orders?api_key=${QUERY}#x`,
    method: 'POST',
    headers: { 'Svc-Label': ['billing, email'], Authorization: [`Bearer ${BODY}`] },
  });
  expect(events).toEqual([{ type: 'body.received', account: 'production', lack: undefined, problem: undefined }]);
});

const bytes = randomBytes(MAX);

test.each<[string, Readonly<Record<string, unknown>>, Uint8Array]>([
  ['of 0 bytes', { sourceBody: '', sourceHeader: { 'content-length': '0' } }, Buffer.alloc(0)],
  ['of the largest size', { sourceBody: base64(bytes), sourceHeader: { 'Content-Length': [String(MAX)] } }, bytes],
  ['that is no UTF-8', { sourceBody: base64(Buffer.from([0xe2, 0x82])) }, Buffer.from([0xe2, 0x82])],
  ['that only contains a mark', { sourceBody: base64(`${MARK}.`) }, Buffer.from(`${MARK}.`)],
  ['without headers', { sourceHeader: {} }, Buffer.from(BODY)],
])('a body %s is kept', async (_what, overrides, expected) => {
  const { facts, body } = await kept(overrides);
  expect(facts).toMatchObject({ size: expected.length });
  expect(facts).not.toHaveProperty('lack');
  expect(body).toEqual(Buffer.from(expected));
});

test.each<[string, string, Readonly<Record<string, unknown>>, number]>([
  ['larger than the limit', 'too_large', { sourceBody: base64(randomBytes(MAX + 1)) }, MAX + 1],
  ['redacted', 'redacted', { sourceBody: MARK }, 0],
  ['redacted, encoded', 'redacted', { sourceBody: base64(MARK) }, 0],
  [
    'with a redacted header',
    'redacted',
    { sourceHeader: { 'X-Key': [MARK.toLowerCase().replace('redacted', 'REDACTED')] } },
    0,
  ],
  [
    'shorter than its Content-Length',
    'length',
    { sourceHeader: { 'content-LENGTH': String(BODY.length + 1) } },
    BODY.length,
  ],
  ['with a wrong Content-Length', 'length', { sourceHeader: { 'Content-Length': 'many' } }, BODY.length],
  ['with two lengths', 'length', { sourceHeader: { 'Content-Length': [String(BODY.length), '1'] } }, BODY.length],
  ['that is missing', 'incomplete', { sourceBody: undefined }, 0],
  ['that is no text', 'incomplete', { sourceBody: 7 }, 0],
  ['that is no base64', 'incomplete', { sourceBody: `${base64(BODY)}!` }, 0],
  ['in the other base64', 'incomplete', { sourceBody: Buffer.from([251, 255, 254]).toString('base64url') }, 0],
  ['without headers of the message', 'incomplete', { sourceHeader: undefined }, 0],
  ['with a header that is no text', 'incomplete', { sourceHeader: { 'X-A': 1 } }, 0],
  ['without a method', 'incomplete', { method: undefined }, 0],
  ['with an odd method', 'incomplete', { method: 'GET / HTTP' }, 0],
  ['without a URL', 'incomplete', { url: undefined }, 0],
])('a body %s is not kept: %s', async (_what, lack, overrides, size) => {
  const { w, facts, body, events } = await kept(overrides);
  expect(facts).toEqual({ lack, size, limits });
  expect(body).toBeUndefined();
  expect(events).toMatchObject([{ account: 'production', lack }]);
  // A publisher redacts on purpose.
  const warned = w.log.some((line) => line.includes('body of a dead letter not kept') && line.includes('"warn"'));
  expect(warned).toBe(lack !== 'redacted');
});

describe('no body', () => {
  test('of an account that keeps none', async () => {
    const w = await hookWorld();
    expect((await w.callback(failureCallback())).status).toBe(202);
    expect(w.bodies.size).toBe(0);
    expect(w.said.some(({ type }) => type === 'body.received')).toBe(false);
  });

  test('of a callback that is no dead letter, and of a canary', async () => {
    const w = await hookWorld({ bodies: limits });
    await w.callback(failureCallback({ dlqId: undefined }));
    await w.callback(failureCallback({ sourceHeader: { 'Svc-Label': CANARY_LABEL } }));
    expect(w.bodies.size).toBe(0);
  });

  test('counts twice if the service sends a callback again', async () => {
    const { w, events } = await kept({ sourceBody: MARK });
    await w.callback(failureCallback({ sourceBody: MARK }));
    expect(w.said.filter(({ type }) => type === 'body.received')).toEqual(events);
  });

  test('is answered before it is stored', async () => {
    const w = await hookWorld({ bodies: limits });
    w.store.isBroken = true;
    expect((await w.callback(failureCallback())).status).toBe(503);
    expect(w.bodies.size).toBe(0);
    expect(w.said.some(({ type }) => type === 'body.received')).toBe(false);
    w.store.isBroken = false;
    expect((await w.callback(failureCallback())).status).toBe(202);
    expect(w.bodies.size).toBe(1);
  });

  test('is in the log, an event or an answer', async () => {
    const w = await hookWorld({ bodies: limits });
    const answers = [
      await w.callback(failureCallback()),
      await w.callback(failureCallback({ dlqId: 'dlq-2', sourceBody: `${base64(BODY)}!` })),
      await w.callback(failureCallback({ dlqId: 'dlq-3', method: BODY })),
      await w.callback(`${JSON.stringify(failureCallback())}}`),
    ];
    const all = JSON.stringify([answers, w.log, w.said]);
    for (const secret of [BODY, base64(BODY), QUERY]) expect(all).not.toContain(secret);
  });
});
