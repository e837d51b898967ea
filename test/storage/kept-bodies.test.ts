/** Bodies of dead letters on both databases: read as they came, sealed in the store, and ended in time. */
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BodyLack } from '#foundation/domain/dead-letter.ts';
import type { CarriedMessage } from '#foundation/domain/carried-message.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { createKeptBodies, type BodySettings } from '#automate/ledger/kept-bodies.ts';
import { all } from '#storage/database.ts';
import { createLedger, type SqliteLedger } from '#storage/sqlite-ledger.ts';
import { STORES, type TestStore } from '../support/postgres/test-stores.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOW = Date.UTC(2026, 10, 18, 10);
const HOUR = 3_600_000;
const ACCOUNT = 'production';
const CANARY = 'canary-body-5e1f';
const [KEY, NEXT] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];

const letter = (dlqId: string, learnedAt = NOW, account = ACCOUNT) => ({
  account,
  dlqId,
  messageId: `msg-${dlqId}`,
  learnedAt,
  labels: [],
});

const messageWith = (body: Uint8Array): CarriedMessage => ({
  url: `https://app.example.com/orders?key=${CANARY}`,
  method: 'PUT',
  headers: { 'Content-Type': ['application/json'], 'X-Both': ['a', 'b'], Authorization: [`Bearer ${CANARY}`] },
  body,
});

describe.each(Object.entries(STORES))('%s', (_name, open) => {
  let store: TestStore;
  let ledger: SqliteLedger;
  let keyFile: string;
  let settings: BodySettings;
  let now: number;
  const clock = { now: () => now };

  beforeEach(async () => {
    store = await open();
    ledger = createLedger(store.journal, { problem: undefined, distrust: undefined });
    keyFile = join(tempDir(), 'key');
    writeFileSync(keyFile, `${KEY}\n`);
    now = NOW;
    settings = { keep: HOUR, maxBytes: 2_097_152, maxTotal: 8_388_608, keys: Secret.fromFile(keyFile) };
  });

  const keep = (dlqId: string, body: Uint8Array, at = NOW, given = settings) =>
    ledger.noteDeadLetter(letter(dlqId, at), bodies(given).pack(ACCOUNT, dlqId, messageWith(body)));
  const bodies = (given: BodySettings = settings) => createKeptBodies(new Map([[ACCOUNT, given]]), clock);
  const reasonOf = async (dlqId: string, given = settings) => {
    const [read, state] = [
      await bodies(given).read(ACCOUNT, dlqId, ledger),
      (await bodies(given).states(ACCOUNT, [dlqId], ledger)).get(dlqId),
    ];
    // Both give one answer.
    expect(state).toEqual(read);
    return 'reason' in read ? read.reason : undefined;
  };
  const rows = () => store.database.read(all('SELECT * FROM dead_letter_bodies ORDER BY dlq_id'));
  const keptIds = async () => (await rows()).filter(({ content }) => content !== null).map((row) => row['dlq_id']);

  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['binary', Buffer.from([0, 255, 10, 13, 0, 128])],
    ['cut UTF-8', Buffer.from('müde €').subarray(0, -1)],
    ['a line feed first', Buffer.from('\n{"a":1}\n')],
    ['1 MiB', randomBytes(1_048_576)],
  ])('a body of %s is read as it came, with all that the callback had', async (_what, body) => {
    for (const given of [settings, { ...settings, keys: undefined }]) {
      const id = given === settings ? 'sealed' : 'clear';
      expect(await keep(id, body, NOW, given)).toEqual({ isNewBody: true, dropped: 0 });
      const read = await bodies(given).read(ACCOUNT, id, ledger);
      if ('reason' in read) throw new Error(read.reason);
      expect(Buffer.from(read.kept.body)).toEqual(body);
      expect({ ...read.kept, body }).toEqual(messageWith(body));
      expect((await bodies(given).states(ACCOUNT, [id], ledger)).get(id)).toEqual({
        size: body.length,
        until: NOW + HOUR,
      });
    }
    const [clear, sealed] = await rows();
    expect(clear!['key_id']).toBeNull();
    expect(sealed!['key_id']).toMatch(/^[0-9a-f]{8}$/);
    // What is in clear shows that the other search could find it.
    expect(Buffer.from(clear!['content'] as Uint8Array).includes(CANARY)).toBe(true);
    expect(Buffer.from(sealed!['content'] as Uint8Array).includes(CANARY)).toBe(false);
    expect(JSON.stringify({ ...sealed, content: '' })).not.toContain(CANARY);
  });

  test('the first report of a body counts, and one that was not kept stays so', async () => {
    await keep('a', Buffer.from('first'));
    expect(await keep('a', Buffer.from('second'))).toEqual({ isNewBody: false, dropped: 0 });
    const read = await bodies().read(ACCOUNT, 'a', ledger);
    expect('kept' in read && Buffer.from(read.kept.body).toString()).toBe('first');
  });

  test.each<[BodyLack, string]>([
    ['too_large', 'The body (3 MiB) was larger than deadLetters.bodies.maxBytes: raise it for later ones.'],
    ['redacted', 'The publisher redacts the body or headers'],
    ['incomplete', 'The callback lacked a valid body'],
    ['length', 'The callback had 3145728 bytes of the body, which is not its Content-Length'],
  ])('a body that is not kept because of %s has its reason until it would have ended', async (lack, reason) => {
    const row = bodies().pack(ACCOUNT, 'a', { lack, size: 3_145_728 });
    expect(await ledger.noteDeadLetter(letter('a'), row)).toEqual({ isNewBody: true, dropped: 0 });
    expect(await reasonOf('a')).toContain(reason);
    expect(await ledger.bodyBytes()).toEqual(new Map([[ACCOUNT, 0]]));
    now = NOW + HOUR;
    expect(await reasonOf('a')).toContain('No body is kept');
  });

  test('without the setting, and before it, there is a reason', async () => {
    expect((await createKeptBodies(new Map(), clock).states(ACCOUNT, ['a'], ledger)).get('a')).toEqual({
      reason:
        'Bodies of production are not kept: set deadLetters.bodies of the account, for messages that fail from then on.',
    });
    expect(await reasonOf('a')).toBe(
      'No body is kept: its callback came before deadLetters.bodies was set, or keep (1h) has passed.',
    );
  });

  describe('the key file', () => {
    test('is read again: a new first key seals, and the old one opens until it is removed', async () => {
      await keep('old', Buffer.from('old'));
      writeFileSync(keyFile, `${NEXT}\n${KEY}\n`);
      await keep('new', Buffer.from('new'));
      const [fresh, old] = await rows();
      expect(fresh!['key_id']).not.toBe(old!['key_id']);
      for (const id of ['old', 'new']) expect(await bodies().read(ACCOUNT, id, ledger)).toHaveProperty('kept');
      writeFileSync(keyFile, NEXT);
      expect(await bodies().read(ACCOUNT, 'new', ledger)).toHaveProperty('kept');
      expect(await reasonOf('old')).toBe(
        `The body is sealed with key ${String(old!['key_id'])}, which keyFile lacks: add the line of that key again.`,
      );
      writeFileSync(keyFile, `${NEXT}\n${KEY}\n`);
      expect(await bodies().read(ACCOUNT, 'old', ledger)).toHaveProperty('kept');
    });

    test.each([
      ['missing', () => rmSync(keyFile), 'ENOENT'],
      ['empty', () => writeFileSync(keyFile, ''), 'is empty'],
      ['invalid', () => writeFileSync(keyFile, CANARY), 'line 1 is no key'],
    ])('that is %s lets nothing be stored in clear, and the dead letter is stored', async (_what, spoil, why) => {
      await keep('before', Buffer.from('before'));
      spoil();
      const packed = bodies().pack(ACCOUNT, 'a', messageWith(Buffer.from(CANARY)));
      expect(packed).toMatchObject({ lack: 'key', problem: expect.stringContaining(why) as string });
      expect(packed).not.toHaveProperty('content');
      expect(JSON.stringify(packed)).not.toContain(CANARY);
      await ledger.noteDeadLetter(letter('a'), packed);
      expect((await ledger.deadLetters(ACCOUNT, 10)).map(({ dlqId }) => dlqId).toSorted()).toEqual(['a', 'before']);
      expect(await reasonOf('a')).toContain('keyFile could not be used when the callback arrived');
      const reason = await reasonOf('before');
      expect(reason).toContain('The body is sealed, and keyFile cannot be used');
      expect(reason).not.toContain(CANARY);
      expect(JSON.stringify(await rows())).not.toContain(CANARY);
    });

    test('that the configuration no longer has is named, and bodies in clear stay readable with one', async () => {
      const inClear = { ...settings, keys: undefined };
      await keep('sealed', Buffer.from('a'));
      await keep('clear', Buffer.from('b'), NOW, inClear);
      expect(await reasonOf('sealed', inClear)).toContain('set keyFile again');
      expect(await bodies().read(ACCOUNT, 'clear', ledger)).toHaveProperty('kept');
    });

    test('does not open a body of another row', async () => {
      await keep('a', Buffer.from('a'));
      await keep('b', Buffer.from('b'));
      await store.database.transaction(function* () {
        yield {
          sql: `UPDATE dead_letter_bodies SET content = (SELECT content FROM dead_letter_bodies WHERE dlq_id = 'a')`,
          rows: [[]],
        };
      });
      expect(await bodies().read(ACCOUNT, 'a', ledger)).toHaveProperty('kept');
      expect(await bodies().read(ACCOUNT, 'b', ledger)).toEqual({
        reason: 'The stored body was changed outside of the daemon: publish the message again at its source.',
      });
      await store.database.transaction(function* () {
        yield { sql: `UPDATE dead_letter_bodies SET account = 'staging'`, rows: [[]] };
      });
      const staging = createKeptBodies(new Map([['staging', settings]]), clock);
      expect(await staging.read('staging', 'a', ledger)).toHaveProperty('reason');
    });
  });

  describe('a body ends', () => {
    test('with its dead letter, and no other one', async () => {
      for (const id of ['a', 'b']) await keep(id, Buffer.from(id));
      await ledger.noteDeadLetter(
        letter('a', NOW, 'staging'),
        bodies().pack(ACCOUNT, 'a', messageWith(Buffer.from('a'))),
      );
      await ledger.forgetDeadLetter(ACCOUNT, 'a');
      expect((await rows()).map((row) => [row['account'], row['dlq_id']])).toEqual([
        ['staging', 'a'],
        [ACCOUNT, 'b'],
      ]);
    });

    test('after its time, for readers at once, and in the store at the next deletion', async () => {
      await keep('old', Buffer.from('old'), NOW - HOUR);
      await keep('lacking', Buffer.alloc(0), NOW - HOUR, { ...settings, keys: Secret.fromFile('/none') });
      await keep('new', Buffer.from('new'), NOW - HOUR + 1);
      expect(await reasonOf('old')).toContain('keep (1h) has passed');
      expect(await bodies().read(ACCOUNT, 'new', ledger)).toHaveProperty('kept');
      expect(await ledger.endBodies(NOW)).toEqual({ ended: new Map([[ACCOUNT, 1]]), more: false });
      expect((await rows()).map((row) => row['dlq_id'])).toEqual(['new']);
      // The dead letters stay.
      expect(await ledger.deadLetters(ACCOUNT, 10)).toHaveLength(3);
    });

    test('in batches', async () => {
      for (let index = 0; index < 501; index++) await keep(`d${index}`, Buffer.from('x'), NOW - HOUR);
      expect(await ledger.endBodies(NOW)).toEqual({ ended: new Map([[ACCOUNT, 500]]), more: true });
      expect(await ledger.endBodies(NOW)).toEqual({ ended: new Map([[ACCOUNT, 1]]), more: false });
    });

    test('by a changed setting: shorter, longer, or none', async () => {
      await keep('a', Buffer.from('a'));
      const { maxTotal } = settings;
      await ledger.retainBodies(ACCOUNT, { keep: 2 * HOUR, maxTotal });
      expect((await bodies().states(ACCOUNT, ['a'], ledger)).get('a')).toMatchObject({ until: NOW + 2 * HOUR });
      await ledger.retainBodies('staging', { keep: 0, maxTotal });
      await ledger.retainBodies(ACCOUNT, { keep: HOUR / 2, maxTotal });
      expect(await ledger.endBodies(NOW + HOUR / 2 - 1)).toMatchObject({ ended: new Map() });
      await ledger.retainBodies(ACCOUNT, { keep: 0, maxTotal });
      expect(await ledger.endBodies(NOW)).toMatchObject({ ended: new Map([[ACCOUNT, 1]]) });
    });

    test('for newer ones beyond the total of its account, oldest first, with its reason', async () => {
      const body = randomBytes(1_000);
      await keep('a', body);
      const [{ bytes }] = (await rows()) as readonly [{ readonly bytes: number }];
      const limited = { ...settings, maxTotal: bytes * 3 };
      await keep('staging', body, NOW - HOUR);
      await store.database.transaction(function* () {
        yield { sql: `UPDATE dead_letter_bodies SET account = 'staging' WHERE dlq_id = 'staging'`, rows: [[]] };
      });
      for (const [index, id] of ['b', 'c'].entries()) {
        expect(await keep(id, body, NOW + 1 + index, limited)).toEqual({ isNewBody: true, dropped: 0 });
      }
      expect(await keep('d', body, NOW + 3, limited)).toEqual({ isNewBody: true, dropped: 1 });
      expect(await keptIds()).toEqual(['b', 'c', 'd', 'staging']);
      expect(await reasonOf('a', limited)).toContain('The body was dropped for newer ones: all together exceeded');
      // A report that arrives twice drops nothing.
      expect(await keep('d', body, NOW + 4, limited)).toEqual({ isNewBody: false, dropped: 0 });
      expect(await ledger.bodyBytes()).toEqual(
        new Map([
          [ACCOUNT, bytes * 3],
          ['staging', bytes],
        ]),
      );
      // A lower limit applies without a new callback.
      expect(await ledger.retainBodies(ACCOUNT, { keep: HOUR, maxTotal: bytes })).toBe(2);
      expect(await keptIds()).toEqual(['d', 'staging']);
      // One that is larger than the limit itself.
      expect(await keep('e', randomBytes(4_000), NOW + 5, { ...limited, maxTotal: bytes })).toEqual({
        isNewBody: true,
        dropped: 2,
      });
      expect(await keptIds()).toEqual(['staging']);
    });
  });
});
