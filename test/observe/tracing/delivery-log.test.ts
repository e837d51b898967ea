/** Lines about deliveries on their way from the store to a file or a pipe. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createDeliveryLog } from '#observe/tracing/delivery-log.ts';
import { deliveryEventsSettings } from '#observe/tracing/settings.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { createDeliveryOutbox } from '#storage/delivery-outbox.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { heldBack } from '../../support/held-back.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

async function outboxOf(store: Store, mostLines?: number) {
  const dropped: number[] = [];
  const outbox = await createDeliveryOutbox(store, {
    onDropped: (lines) => void dropped.push(lines),
    ...(mostLines !== undefined && { mostLines }),
  });
  const add = async (...lines: readonly string[]): Promise<void> => {
    const write = outbox.begin('production', lines);
    await store.database.transaction(write.work);
    write.committed();
  };
  return { outbox, add, dropped };
}

async function world(options: { readonly mostLines?: number } = {}) {
  const folder = tempDir();
  const store = openStore(join(folder, 'opsd.db'));
  onTestFinished(() => store[Symbol.dispose]());
  const events = new EventBus();
  const heard: OpsEvent[] = [];
  events.subscribe((event) => void heard.push(event));
  const made = await outboxOf(store, options.mostLines);
  return {
    ...made,
    file: join(folder, 'lines.jsonl'),
    /** Resolves when the file has all stored lines. */
    written: () => until({ what: 'lines' }, () => made.outbox.queued === 0),
    folder,
    store,
    heard,
    logTo: (file: string, outbox = made.outbox) => {
      const log = createDeliveryLog({ outbox, settings: { file }, clock: systemClock, events });
      onTestFinished(async () => log[Symbol.asyncDispose]());
      return log;
    },
  };
}

describe('lines in a file', () => {
  test('are appended after each commit, and settled', async () => {
    const w = await world();
    await w.add('{"n":1}');
    w.logTo(w.file);
    await w.written();
    await w.add('{"n":2}', '{"n":3}');
    await w.written();
    expect(readFileSync(w.file, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
    expect(w.heard).toEqual([
      { type: 'deliveries.written', count: 1 },
      { type: 'deliveries.written', count: 2 },
    ]);
  });

  test('are written again when it is not known that they were, and after a restart', async () => {
    const w = await world();
    await w.add('{"n":1}');
    // The process ends between the write and its record.
    const dying = { ...w.outbox, settle: async () => expect.unreachable('dead') };
    const log = w.logTo(w.file, { ...dying, next: async () => (w.heard.length > 0 ? undefined : w.outbox.next()) });
    await until({ what: 'lines' }, () => w.heard.length > 0);
    await log[Symbol.asyncDispose]();
    const again = await outboxOf(w.store);
    expect(again.outbox.queued).toBe(1);
    w.logTo(w.file, again.outbox);
    await until({ what: 'lines' }, () => again.outbox.queued === 0);
    expect(readFileSync(w.file, 'utf8')).toBe('{"n":1}\n{"n":1}\n');
  });

  test('that are stored while the outbox is read are written too', async () => {
    const w = await world();
    const { port, waiting, release } = heldBack(w.outbox, 'next');
    w.logTo(w.file, port);
    const first = waiting.shift()!;
    // The reading is empty, although lines are stored before its caller knows it.
    await w.add('{"n":1}');
    vi.spyOn(w.outbox, 'next').mockResolvedValueOnce(undefined);
    first.proceed();
    release();
    await w.written();
    expect(readFileSync(w.file, 'utf8')).toBe('{"n":1}\n');
  });

  test('go to a new one after the old one was renamed', async () => {
    const w = await world();
    w.logTo(w.file);
    await w.add('{"n":1}');
    await w.written();
    renameSync(w.file, `${w.file}.1`);
    await w.add('{"n":2}');
    await w.written();
    expect(readFileSync(w.file, 'utf8')).toBe('{"n":2}\n');
  });

  test('wait while it cannot be written, which is reported', async () => {
    const w = await world();
    w.logTo(join(w.folder, 'no such folder', 'lines.jsonl'));
    await w.add('{"n":1}');
    await until({ what: 'lines' }, () => w.heard.length > 0);
    expect(w.heard[0]).toEqual({ type: 'deliveries.failing', reason: 'ENOENT' });
    expect(w.outbox.queued).toBe(1);
  });

  test('are bounded while they wait; the excess is counted', async () => {
    const w = await world({ mostLines: 3 });
    await w.add('1', '2');
    await w.add('3', '4', '5');
    await w.add('6');
    expect(w.outbox.queued).toBe(3);
    expect(w.dropped).toEqual([2, 1]);
    const again = await outboxOf(w.store, 3);
    expect(await again.outbox.next()).toMatchObject({ text: '1\n2\n3\n' });
  });
});

test('a pipe that is read late or not at all blocks nothing, and gets every line whole', async () => {
  const w = await world();
  const file = join(w.folder, 'pipe');
  execFileSync('mkfifo', [file]);
  const lines = Array.from({ length: 1_200 }, (_, n) => JSON.stringify({ n, filler: 'x'.repeat(200) }));
  const log = w.logTo(file);
  await w.add(...lines);
  await until({ what: 'lines' }, () => w.heard.length > 0);
  expect(w.heard[0]).toEqual({ type: 'deliveries.failing', reason: 'ENXIO' });

  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  // The pipe is full, and no process reads it.
  await until({ what: 'lines' }, () =>
    w.heard.some((event) => event.type === 'deliveries.failing' && event.reason === 'EAGAIN'),
  );
  expect(w.outbox.queued).toBeGreaterThan(0);

  expect(await readAll(reader, () => w.outbox.queued === 0)).toBe(lines.map((line) => `${line}\n`).join(''));
  await log[Symbol.asyncDispose]();
});

test('lines that arrive after a partial write to a pipe follow the rest of it', async () => {
  const w = await world();
  const file = join(w.folder, 'pipe');
  execFileSync('mkfifo', [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  const lines = Array.from({ length: 400 }, (_, n) => JSON.stringify({ n, filler: 'x'.repeat(200) }));
  await w.add(...lines);
  w.logTo(file);
  await until({ what: 'a full pipe' }, () => w.heard.some(({ type }) => type === 'deliveries.failing'));
  await w.add('{"n":400}');
  const whole = [...lines, '{"n":400}'].map((line) => `${line}\n`).join('');
  expect(await readAll(reader, () => w.outbox.queued === 0)).toBe(whole);
});

/** Returns the output of a pipe until all was written. */
async function readAll(reader: number, isWritten: () => boolean): Promise<string> {
  const parts: Buffer[] = [];
  await until({ what: 'lines' }, () => {
    const buffer = Buffer.alloc(65_536);
    try {
      parts.push(buffer.subarray(0, readSync(reader, buffer)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return isWritten();
  });
  const rest = Buffer.alloc(200_000);
  parts.push(rest.subarray(0, readRest(reader, rest)));
  return Buffer.concat(parts).toString('utf8');
}

function readRest(reader: number, into: Buffer): number {
  try {
    return readSync(reader, into);
  } catch {
    return 0;
  }
}

test.each([
  [{ file: 'a' }, true],
  [{ stdout: true }, true],
  [{}, false],
  [{ file: 'a', stdout: true }, false],
])('the setting %j is valid: %s', (deliveryEvents, isGood) => {
  expect(deliveryEventsSettings.safeParse(deliveryEvents).success).toBe(isGood);
});
