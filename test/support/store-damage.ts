/** Stores with content in most tables, and random damage to their pages. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { expect } from 'vitest';
import { run } from '#storage/database.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { createTotals } from '#storage/totals.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { StoreError } from '#storage/store-error.ts';
import { intentFor } from './ledger-facts.ts';
import { tempDir } from './temp-dir.ts';

const PAGE_BYTES = 4_096;

/** Creates a store with counters, histograms, keys and a ledger. */
export async function filledStore(path: string): Promise<Store> {
  const store = openStore(path);
  const totals = createTotals(store);
  const ledger = await openLedger(store, memoryAudit());
  for (let n = 0; n < 30; n++) {
    const destination = `crm.vendor.example-${n}`;
    await totals.commit('production', () => ({
      increments: [
        { metric: 'msgsvc_message_attempts_total', labels: [destination], by: 100 + n },
        { metric: 'msgsvc_messages_finished_total', labels: [destination], by: n },
      ],
      histograms: [
        { metric: 'msgsvc_message_delivery_duration_seconds', labels: [destination], buckets: [n, 1, 2], sum: n / 7 },
      ],
      work: run('INSERT INTO log_keys VALUES (?, ?, ?, ?)', 'production', 'seen', n, Buffer.alloc(600, `key ${n}`)),
    }));
    await intentFor(ledger, `dlq-${n}`);
  }
  return store;
}

/** Returns the rows of each table as text. In `sqlite_sequence`, a higher number only skips ids. */
function contentOf(path: string): ReadonlyMap<string, string> {
  using db = new DatabaseSync(path, { readOnly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'`).all();
  return new Map(
    tables.map(({ name }) => [String(name), JSON.stringify(db.prepare(`SELECT * FROM ${String(name)}`).all())]),
  );
}

type Damage = (pages: Buffer) => void;

/** Generates damage to data pages. The first page is the header and the schema. */
function damageOf(pageCount: number): fc.Arbitrary<Damage> {
  const page = fc.integer({ min: 1, max: pageCount - 1 });
  const offset = fc.integer({ min: 0, max: PAGE_BYTES - 65 });
  const at = fc.tuple(page, offset).map(([number, within]) => number * PAGE_BYTES + within);
  return fc.oneof(
    // A flipped bit, a run of other bytes, a replaced digit, an erased page, a page in another's place.
    fc.tuple(at, fc.integer({ min: 0, max: 7 })).map(([start, bit]): Damage => (all) => {
      all[start]! ^= 1 << bit;
    }),
    fc.tuple(at, fc.uint8Array({ minLength: 1, maxLength: 64 })).map(([start, bytes]): Damage => (all) => {
      all.set(bytes, start);
    }),
    fc.tuple(at, fc.integer({ min: 1, max: 9 })).map(([start, by]): Damage => (all) => {
      const digit = all.findIndex((byte, index) => index >= start && byte >= 0x30 && byte <= 0x39);
      if (digit >= 0) all[digit] = 0x30 + ((all[digit]! - 0x30 + by) % 10);
    }),
    page.map(
      (number): Damage =>
        (all) =>
          void all.fill(0, number * PAGE_BYTES, (number + 1) * PAGE_BYTES),
    ),
    fc.tuple(page, page).map(([from, to]): Damage => (all) => {
      all.copyWithin(to * PAGE_BYTES, from * PAGE_BYTES, (from + 1) * PAGE_BYTES);
    }),
  );
}

/**
 * Damages stores at random and opens them. Each is rejected, or has exactly its earlier content.
 *
 * @returns the number of rejected stores
 */
export async function damagesFound(options: { readonly runs: number; readonly seed?: number }): Promise<number> {
  const path = join(tempDir(), 'opsd.db');
  (await filledStore(path))[Symbol.dispose]();
  const whole = readFileSync(path);
  const mark = readFileSync(`${path}.clean`);
  const content = contentOf(path);
  let refused = 0;
  fc.assert(
    fc.property(damageOf(whole.length / PAGE_BYTES), fc.boolean(), (damage, isMarked) => {
      const bytes = Buffer.from(whole);
      damage(bytes);
      writeFileSync(path, bytes);
      rmSync(`${path}-wal`, { force: true });
      if (isMarked) writeFileSync(`${path}.clean`, mark);
      else rmSync(`${path}.clean`, { force: true });
      let store;
      try {
        store = openStore(path);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreError);
        refused += 1;
        return;
      }
      // Value that the opening itself writes.
      store.db.exec(`UPDATE meta SET value = '1' WHERE key = 'epoch'`);
      store[Symbol.dispose]();
      const now = contentOf(path);
      expect([...content.keys()].filter((table) => now.get(table) !== content.get(table))).toEqual([]);
    }),
    { numRuns: options.runs, ...(options.seed !== undefined && { seed: options.seed }) },
  );
  return refused;
}
