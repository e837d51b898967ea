/** Canary messages whose requests reach another replica than the one that sends them. */
import { expect, test } from 'vitest';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { CanaryBook } from '#observe/canary/book.ts';
import { CanaryInbox } from '#observe/canary/inbox.ts';
import { bodyOf, codeOf, type Purpose } from '#observe/canary/message.ts';
import type { CanaryRelay, RelayedFact } from '#observe/canary/relay.ts';
import type { CanaryStore } from '#observe/canary/store.ts';
import { createCanaryStore } from '#storage/canary-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { canaryWorld, PLACE, START, type WorldOptions } from './canary-world.ts';

const MINUTE = 60_000;

/** Database of both replicas. */
function database(clock: ManualClock) {
  const kept = createCanaryStore(openMemoryStore('here'));
  const rows = new Map<number, { readonly at: number; readonly fact: RelayedFact }>();
  /** Settles when the facts about responses are stored. */
  const responses = { stored: Promise.resolve() };
  let last = 0;
  let rounds: Parameters<CanaryStore['save']>[0]['rounds'] = [];
  const store: CanaryStore = {
    ...kept,
    async save({ relayed, ...change }) {
      rounds = [...rounds, ...change.rounds];
      await kept.save(change);
      if (relayed !== undefined) rows.delete(relayed);
    },
  };
  const relay: CanaryRelay = {
    sizeOf: async (_place, nonce) => rounds.find((round) => round.nonce === nonce)?.bytes,
    async put(_place, fact) {
      if (fact.kind === 'answered') await responses.stored;
      rows.set((last += 1), { at: clock.monotonic(), fact });
      return last;
    },
    read: async () => [...rows].map(([id, { at, fact }]) => ({ id, agoMs: clock.monotonic() - at, fact })),
    async delete(_place, ids) {
      for (const id of ids) rows.delete(id);
    },
  };
  return { store, relay, rows, responses };
}

async function replicas(options: WorldOptions = {}) {
  const clock = new ManualClock(START);
  const { store, relay, rows, responses } = database(clock);
  const share = { relay, clock, onFailed: () => undefined };
  const owner = await canaryWorld({ clock, store, share: { ...share, isOwn: () => true }, ...options });
  const book = await CanaryBook.open({
    store: { ...store, load: async () => ({ rounds: [], states: [] }) },
    clock: new ManualClock(START + MINUTE),
    events: new EventBus(),
  });
  const other = new CanaryInbox(book, { ...share, isOwn: () => false });
  const found = (purpose: Purpose, nonce = owner.newest().record.nonce) =>
    other.find(PLACE, codeOf(book.key, purpose, nonce, PLACE));
  /** The newest message arrives at the other replica. */
  async function arrive({ altered = false, isAnswered = true } = {}): Promise<void> {
    const message = await found('message');
    if (message?.kind !== 'message') throw new Error('the code is not known');
    const { nonce, bytes } = owner.newest().record;
    expect(message.body.equals(bodyOf(nonce, bytes))).toBe(true);
    const answered = await message.take({ altered });
    if (isAnswered) answered();
  }
  async function call(status = 202, messageId?: string): Promise<void> {
    const callback = await found('callback');
    if (callback?.kind !== 'callback') throw new Error('the code is not known');
    await callback.take({ status, ...(messageId !== undefined && { messageId }) });
  }
  const report = () => owner.service.entry(owner.service.published.at(-1)!, 'DELIVERED', { responseStatus: 202 });
  return { owner, other, found, arrive, call, report, rows, responses, clock };
}

test('a message and its callback that another replica gets are the owner’s, with their times', async () => {
  const { owner, arrive, call, report, rows, clock } = await replicas();
  await clock.advance(300);
  await arrive();
  await clock.advance(200);
  await call(202, 'msg_callback');
  report();
  await clock.advance(2_000);
  expect(owner.newest().record).toMatchObject({
    arrivals: [{ afterMs: 300, altered: false, answerMs: 0 }],
    callback: { afterMs: 500, status: 202 },
    result: { verdict: 'ok' },
  });
  expect(rows.size).toBe(0);
});

test('the owner learns late of a response, and not of a late response', async () => {
  const { owner, arrive, call, responses, clock } = await replicas();
  const store = Promise.withResolvers<void>();
  responses.stored = store.promise;
  await clock.advance(300);
  await arrive();
  await call();
  await clock.advance(35_000);
  store.resolve();
  await clock.advance(2_000);
  expect(owner.newest().record).toMatchObject({ arrivals: [{ afterMs: 300, answerMs: 0 }] });
  expect(owner.newest().record.result?.verdict).not.toBe('receiver');
});

test('a message that arrives elsewhere right before its limit is not late', async () => {
  const { owner, arrive, call, report, clock } = await replicas();
  await clock.advance(19_900);
  await arrive();
  await call();
  report();
  await clock.advance(10_000);
  expect(owner.newest().record).toMatchObject({ arrivals: [{ afterMs: 19_900 }], result: { verdict: 'ok' } });
});

test('each arrival counts once, wherever it was', async () => {
  const { owner, arrive, call, report, clock } = await replicas();
  await arrive();
  await call();
  report();
  await clock.advance(2_000);
  expect(owner.newest().record.arrivals).toHaveLength(1);
  expect(owner.state().verdict).toBe('ok');
  // The next message: the second arrival comes after its verdict, and the owner learns of it with the next one.
  await clock.advance(MINUTE);
  await arrive();
  await call();
  report();
  await clock.advance(2_000);
  const round = owner.newest();
  await arrive();
  await clock.advance(MINUTE);
  expect(round.record.arrivals).toMatchObject([{ answerMs: 0 }, { isRepeated: true }]);
  expect(round.record.result).toMatchObject({ verdict: 'service', reason: 'the message arrived twice' });
  expect(
    owner.said1('canary.message').filter((event) => 'outcome' in event && event.outcome === 'duplicate'),
  ).toHaveLength(1);
});

test('a message that another replica got after its verdict is late, and not lost', async () => {
  const { owner, arrive, call, report, clock } = await replicas({ settings: { every: '20m' } });
  await arrive();
  await call();
  report();
  await clock.advance(20 * MINUTE + 100);
  await clock.advance(5 * MINUTE);
  await arrive();
  await clock.advance(16 * MINUTE);
  const outcomes = owner.said1('canary.message').map((event) => 'outcome' in event && event.outcome);
  expect(outcomes).toContain('late');
  expect(outcomes).not.toContain('lost');
});

test('a second arrival without a response to the first is not the service’s fault', async () => {
  const { owner, arrive, clock } = await replicas();
  await arrive({ isAnswered: false });
  await clock.advance(1_100);
  await arrive();
  await clock.advance(1_100);
  expect(owner.newest().record.arrivals).toHaveLength(2);
  expect(owner.newest().record.arrivals[1]).not.toHaveProperty('isRepeated');
});

test('another body, and a rejected request, are known to the owner', async () => {
  const { owner, other, arrive, rows, clock } = await replicas();
  for (let n = 0; n < 5; n += 1) other.rejected(PLACE, { status: 404, reason: 'signature' });
  other.rejected(PLACE, { status: 503, reason: 'own' });
  // A stranger can send any number of them.
  expect(rows.size).toBe(2);
  await clock.advance(1_100);
  expect(owner.newest().rejections).toEqual([
    { status: 404, reason: 'signature' },
    { status: 503, reason: 'own' },
  ]);
  await arrive({ altered: true });
  await clock.advance(1_100);
  const result = { verdict: 'service', reason: 'the message arrived with another body' };
  expect(owner.newest().record).toMatchObject({ result });
});

test('a probe that another replica answers has arrived', async () => {
  const { owner, found } = await replicas();
  expect(await owner.inbox.hasProbe(PLACE, 'probe-nonce-0123456789')).toBe(false);
  const probe = await found('probe', 'probe-nonce-0123456789');
  if (probe?.kind === 'probe') await probe.take();
  expect(await owner.inbox.hasProbe(PLACE, 'probe-nonce-0123456789')).toBe(true);
});

test('a forged code, and one of an unknown message, is no code anywhere', async () => {
  const { owner, other, found } = await replicas();
  const nonce = 'unknown-nonce-01234567';
  expect(await found('message', nonce)).toBeUndefined();
  const { nonce: known } = owner.newest().record;
  expect(await other.find(PLACE, `m.${known}.${'A'.repeat(43)}`)).toBeUndefined();
  expect(
    await other.find({ ...PLACE, canary: 'away' }, codeOf(owner.book.key, 'message', known, PLACE)),
  ).toBeUndefined();
});
