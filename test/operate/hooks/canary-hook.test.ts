/** The hooks of canaries: what counts, and what a stranger learns. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { CanaryBook } from '#observe/canary/book.ts';
import { CanaryInbox } from '#observe/canary/inbox.ts';
import { bodyOf, codeOf, CODE_HEADER, type Purpose } from '#observe/canary/message.ts';
import { startHooks } from '#operate/hooks/hooks.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { createKeptBodies } from '#automate/ledger/kept-bodies.ts';
import { NOW, SIGNING_KEY, signed } from './hook-world.ts';

const HOME = { account: 'production', canary: 'home' };
const PATH = '/hooks/canary/production/home';

async function canaryWorld(options: { readonly signs?: boolean } = {}) {
  const clock = new ManualClock(NOW);
  const events = new EventBus();
  const said: OpsEvent[] = [];
  events.subscribe((event) => void said.push(event));
  const store = createCanaryStore(openMemoryStore('here'));
  const book = await CanaryBook.open({ store, clock, events });
  const inbox = new CanaryInbox(book);
  const log: string[] = [];
  const unused = () => expect.unreachable();
  const server = await startHooks(
    {
      clock,
      events,
      logger: createLogger({ level: 'debug', destination: { write: (line) => void log.push(line) } }),
      ledger: { noteAlert: unused, noteDeadLetter: unused, recordTrigger: unused, recordDeploy: unused },
      bodies: () => createKeptBodies(new Map(), clock),
      accounts: () => [],
      policies: () => [],
      run: unused,
      canaries: () => inbox,
    },
    {
      alertmanager: new Map(),
      callbacks: new Map(),
      canaries: [
        {
          ...HOME,
          headerPrefix: 'Svc',
          maxBytes: 1_000,
          ...(options.signs === true && { signature: { keys: Secret.of(SIGNING_KEY) } }),
        },
      ],
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(async () => {
    const closed = server.close();
    await clock.advance(2_000);
    await closed;
  });
  const round = await book.begin({ ...HOME, route: 'url', size: 'small', bytes: 300, timeoutMs: 60_000 });
  const code = (purpose: Purpose, place = HOME, nonce = round.record.nonce): string =>
    codeOf(book.key, purpose, nonce, place);
  const send = async (init: {
    readonly code?: string;
    readonly body?: string | Buffer;
    readonly path?: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }) => {
    const { path = PATH, method = 'POST', body = '' } = init;
    const headers = { ...(init.code !== undefined && { [CODE_HEADER]: init.code }), ...init.headers };
    const response = await fetch(`${server.address}${path}`, {
      method,
      headers,
      ...(method !== 'GET' && { body: new Uint8Array(Buffer.from(body)) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const message = bodyOf(round.record.nonce, 300);
  return { book, inbox, round, code, send, message, said, log, store, clock };
}

const NO_HOOK = { status: 404, text: 'No hook at this path.' };
const normal = ({ status, text }: { readonly status: number; readonly text: string }) => ({
  status,
  text: text.trim(),
});

describe('a message', () => {
  test('arrives once, and its repetition is a duplicate', async () => {
    const { send, code, message, round, store } = await canaryWorld();
    expect((await send({ code: code('message'), body: message })).status).toBe(202);
    expect(round.record.arrivals).toMatchObject([{ altered: false, answerMs: 0 }]);
    // It is stored before the response.
    expect((await store.load()).rounds).toMatchObject([{ id: round.record.id, arrivals: [{ altered: false }] }]);
    expect((await send({ code: code('message'), body: message })).status).toBe(202);
    expect(round.record.arrivals).toMatchObject([{}, { isRepeated: true }]);
  });

  test.each([
    ['cut', (body: Buffer) => body.subarray(0, 100)],
    ['changed', (body: Buffer) => Buffer.concat([body.subarray(1), Buffer.from('!')])],
    ['longer', (body: Buffer) => Buffer.concat([body, Buffer.alloc(10)])],
    ['much longer than any', (body: Buffer) => Buffer.concat([body, Buffer.alloc(100_000)])],
  ])('that is %s arrives altered', async (_title, alter) => {
    const { send, code, message, round } = await canaryWorld();
    await send({ code: code('message'), body: alter(message) });
    expect(round.record.arrivals).toMatchObject([{ altered: true }]);
  });

  test('with a signature over the body that arrived', async () => {
    const { send, code, message, round } = await canaryWorld({ signs: true });
    const sign = (body: Buffer) => ({ 'Svc-Signature': signed(body.toString('latin1')) });
    expect((await send({ code: code('message'), body: message, headers: sign(message) })).status).toBe(202);
    const cut = message.subarray(0, 99);
    expect((await send({ code: code('message'), body: cut, headers: sign(cut) })).status).toBe(202);
    expect(round.record.arrivals.map(({ altered }) => altered)).toEqual([false, true]);
    expect(round.rejections).toEqual([]);
  });

  test('that was changed after the service signed it did not arrive', async () => {
    const { send, code, message, round } = await canaryWorld({ signs: true });
    const headers = { 'Svc-Signature': signed(message.toString('latin1')) };
    for (const body of [message.subarray(0, 99), Buffer.concat([message, Buffer.alloc(100_000)])]) {
      expect(normal(await send({ code: code('message'), body, headers }))).toEqual(NO_HOOK);
    }
    expect(round.record.arrivals).toEqual([]);
    expect(round.rejections).toEqual([
      { status: 404, reason: 'changed' },
      { status: 404, reason: 'changed' },
    ]);
  });

  test('without a signature by the signing keys is not there', async () => {
    const { send, code, message, round } = await canaryWorld({ signs: true });
    for (const headers of [
      {},
      { 'Svc-Signature': signed(message.toString('latin1'), {}, { key: 'another-key' }) },
    ] as Record<string, string>[]) {
      expect(normal(await send({ code: code('message'), body: message, headers }))).toEqual(NO_HOOK);
    }
    expect(round.record.arrivals).toEqual([]);
    expect(round.rejections).toEqual([
      { status: 404, reason: 'signature' },
      { status: 404, reason: 'signature' },
    ]);
  });
});

describe('a callback', () => {
  test('counts with its own code and at its own path, once', async () => {
    const { send, code, round, inbox } = await canaryWorld();
    const path = `${PATH}/callback`;
    const body = JSON.stringify({ status: 202, sourceMessageId: 'm' });
    expect(normal(await send({ code: code('message'), path, body }))).toEqual(NO_HOOK);
    expect(normal(await send({ code: code('callback'), body }))).toEqual(NO_HOOK);
    const headers = { 'Svc-Message-Id': 'msg_callback' };
    expect((await send({ code: code('callback'), path, body, headers })).status).toBe(202);
    expect(round.record.callback).toMatchObject({ status: 202 });
    expect(inbox.hasCallback('msg_callback')).toBe(true);
    await send({ code: code('callback'), path, body: '{"status":500}' });
    expect(round.record.callback).toMatchObject({ status: 202 });
  });

  test.each(['{', '[]', '{"status":"x"}', 'null'])('with the body %s has no status', async (body) => {
    const { send, code, round } = await canaryWorld();
    expect((await send({ code: code('callback'), path: `${PATH}/callback`, body })).status).toBe(202);
    expect(round.record.callback).toEqual({ afterMs: 0 });
  });
});

describe('a stranger', () => {
  test('learns nothing: each request has the response of an unknown path', async () => {
    const { send, code, message, round, said } = await canaryWorld();
    const unknown = normal(await send({ path: '/hooks/canary/production/other', code: code('message') }));
    expect(unknown).toEqual(NO_HOOK);
    const others: Parameters<typeof send>[0][] = [
      {},
      { code: '' },
      { code: code('message').slice(0, -1) },
      { code: `${code('message').slice(0, -1)}_` },
      { code: code('message', { ...HOME, canary: 'other' }) },
      { code: code('message', { ...HOME, account: 'staging' }) },
      { code: code('message', HOME, randomBytes(16).toString('base64url')) },
      { code: code('callback') },
      { code: code('message'), method: 'GET' },
      { code: code('message'), method: 'PUT' },
      { body: Buffer.alloc(200_000) },
    ];
    for (const init of others) expect(normal(await send({ body: message, ...init }))).toEqual(NO_HOOK);
    expect(round.record.arrivals).toEqual([]);
    expect(round.rejections.length).toBeGreaterThan(5);
    expect(said).toContainEqual(
      expect.objectContaining({ type: 'hook.answered', hook: 'canary', name: 'production/home', code: 404 }),
    );
  });

  test('cannot guess a code', async () => {
    const { inbox, round, code } = await canaryWorld();
    const real = code('message');
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ minLength: 60, maxLength: 80 })), (text) => {
        expect(inbox.recognize(HOME, text)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(
        fc.nat({ max: real.length - 1 }),
        fc.constantFrom('A', 'a', '0', '_', '-', '.', 'm', 'c'),
        (at, letter) => {
          const changed = real.slice(0, at) + letter + real.slice(at + 1);
          fc.pre(changed !== real);
          expect(inbox.recognize(HOME, changed)).toBeUndefined();
        },
      ),
    );
    expect(inbox.recognize(HOME, real)).toMatchObject({ kind: 'message' });
    expect(round.record.arrivals).toEqual([]);
  });

  test('finds no key and no code in the log', async () => {
    const { send, code, message, log, said, book, round } = await canaryWorld();
    await send({ code: code('message'), body: message });
    await send({ code: `${code('callback')}x`, body: message });
    const all = [...log, ...said.map((event) => JSON.stringify(event)), JSON.stringify(round.view())].join('\n');
    for (const secret of [book.key.reveal(), round.record.nonce, code('message')]) expect(all).not.toContain(secret);
  });
});
