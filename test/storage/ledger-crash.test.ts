/** A process may end at any time: the audit log stays valid, and agrees with the store. */
import { appendFileSync, copyFileSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AuditLog, AuditRecord } from '#automate/ledger/audit-log.ts';
import { auditPathOf, readAudit, segmentPathOf, segmentsOf, verifyAudit } from '#automate/ledger/audit-reader.ts';
import { ACTION_OUTCOMES, type CapLimit } from '#automate/ledger/intents.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { readHead } from '#storage/audit-head.ts';
import { openLedger } from '#storage/sqlite-ledger.ts';
import { openStore, type Store } from '#storage/sqlite.ts';
import { planOf, resumeOf } from '../support/ledger-facts.ts';
import { tempDir } from '../support/temp-dir.ts';
import { dying } from './programs/dying.ts';

test.each([
  ['before-record', { sent: false, claimed: false, told: [] }],
  ['within-record', { sent: false, claimed: false, told: ['audit.torn'] }],
  ['before-commit', { sent: false, claimed: false, told: ['intent', 'audit.not_committed'] }],
  ['after-commit', { sent: true, claimed: true, told: ['intent'] }],
])('a process killed %s of an intent', async (moment, expected) => {
  const path = join(tempDir(), 'opsd.db');
  expect(await dying('die-in-a-change', path, moment)).toBe(expected.sent ? 'sent' : '');
  using store = openStore(path);
  using audit = openAuditLog(store, new ManualClock(1));
  const ledger = await openLedger(store, audit);
  expect(ledger.mustBeAdopted).toBeUndefined();
  expect((await ledger.claims('production', ['first'])).has('first')).toBe(true);
  expect((await ledger.claims('production', ['second'])).has('second')).toBe(expected.claimed);
  const records = await Array.fromAsync(readAudit(auditPathOf(path)));
  const [, , , ...told] = records.map(({ type }) => type);
  expect(told).toEqual([...expected.told, 'store.opened']);
  expect(await audit.verify()).not.toHaveProperty('finding');
});

const MOMENTS = [
  'never',
  'within-rotation',
  'before-record',
  'within-record',
  'before-commit',
  'after-commit',
] as const;
type Moment = (typeof MOMENTS)[number];

class Killed extends Error {}

/** Room for a few records, so that most sequences rotate the log. */
const MAX_BYTES = 1_000;

/** A store whose process can be killed. The next process sees exactly the files of that moment. */
class Mortal {
  #path: string;
  #store!: Store;
  #audit!: ReturnType<typeof openAuditLog>;
  #moment: Moment = 'never';
  ledger!: Ledger;

  constructor() {
    this.#path = join(tempDir(), 'opsd.db');
  }

  static async born(): Promise<Mortal> {
    const mortal = new Mortal();
    await mortal.#open();
    return mortal;
  }

  get auditPath(): string {
    return auditPathOf(this.#path);
  }

  get knownHead(): ReturnType<typeof readHead> {
    return readHead(this.#store.db);
  }

  /**
   * Runs the work, or ends at that moment of it.
   *
   * @returns undefined when the process ended first
   */
  async attempt<T>(moment: Moment, work: (ledger: Ledger) => T | Promise<T>): Promise<T | undefined> {
    this.#moment = moment;
    try {
      const result = await work(this.ledger);
      if (moment === 'after-commit') this.#die();
      return result;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      return undefined;
    } finally {
      if (this.#next !== undefined) await this.#rise();
      this.#moment = 'never';
    }
  }

  close(): void {
    this.#audit[Symbol.dispose]();
    this.#store[Symbol.dispose]();
  }

  #next: string | undefined;

  async #open(): Promise<void> {
    this.#store = openStore(this.#path);
    const audit = (this.#audit = openAuditLog(this.#store, new ManualClock(1), MAX_BYTES));
    const mortal: AuditLog = {
      ...audit,
      append: (entry) => {
        if (this.#moment === 'before-record' || this.#moment === 'within-rotation') this.#die();
        if (this.#moment === 'within-record') {
          appendFileSync(this.auditPath, `{"type":"${entry.type}`);
          this.#die();
        }
        const head = audit.append(entry);
        if (this.#moment === 'before-commit') this.#die();
        return head;
      },
    };
    this.ledger = await openLedger(this.#store, mortal);
  }

  /** Keeps the present files. The caller must not continue. */
  #die(): void {
    const next = join(tempDir(), 'opsd.db');
    const segments = segmentsOf(this.auditPath).map((segment) => segment.slice(this.#path.length));
    for (const suffix of ['', '-wal', '.audit.jsonl', ...segments]) {
      if (existsSync(this.#path + suffix)) copyFileSync(this.#path + suffix, next + suffix);
    }
    const head = this.#audit.head();
    // The file is already a segment, and the next one has no name yet.
    if (this.#moment === 'within-rotation' && head !== undefined) {
      const left = segmentPathOf(auditPathOf(next), head.sequence);
      if (!existsSync(left)) renameSync(auditPathOf(next), left);
    }
    this.#next = next;
    if (this.#moment !== 'after-commit') throw new Killed();
  }

  async #rise(): Promise<void> {
    this.close();
    this.#path = this.#next!;
    this.#next = undefined;
    this.#moment = 'never';
    await this.#open();
  }
}

const CAPS: readonly CapLimit[] = [
  { scope: 'policy', windowMs: 3_600_000, limit: 6 },
  { scope: 'engine', windowMs: 7_200_000, limit: 10 },
];

const STEP = fc.record({
  op: fc.constantFrom(
    'reserve',
    'reserve',
    'reserve',
    'outcome',
    'outcome',
    'pause',
    'unpause',
    'plan',
    'decide',
    'trigger',
  ),
  moment: fc.oneof({ weight: 3, arbitrary: fc.constant<Moment>('never') }, fc.constantFrom(...MOMENTS)),
  n: fc.integer({ min: 0, max: 9 }),
  items: fc.integer({ min: 1, max: 4 }),
  wait: fc.integer({ min: 0, max: 900_000 }),
  outcome: fc.constantFrom(...ACTION_OUTCOMES),
});

interface Told {
  readonly at: number;
  readonly items: number;
  readonly policy: string;
  active: boolean;
}

test('after any sequence of changes and crashes the log is valid and agrees with the ledger, and no cap was exceeded', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40 }), async (steps) => {
      const mortal = await Mortal.born();
      const times = new Map<string, number>();
      let now = 10_000_000;
      await mortal.attempt('never', (ledger) => ledger.beginRun(planOf(), now));
      for (const [index, { op, moment, n, items, wait, outcome }] of steps.entries()) {
        now += wait;
        const policy = n % 2 === 0 ? 'even' : 'odd';
        const target = `dlq-${n}-${index % 3}`;
        switch (op) {
          case 'reserve':
            times.set(`${index}`, now);
            await mortal.attempt(moment, (ledger) =>
              ledger.reserve(1, resumeOf(target, { policy, items, lineage: String(index) }), now, CAPS),
            );
            break;
          case 'outcome': {
            const open = await mortal.ledger.recentActions(50);
            const intent = open[n % Math.max(1, open.length)];
            if (intent !== undefined)
              await mortal.attempt(moment, (ledger) =>
                ledger.recordOutcome(intent.id, 'production', { at: now, outcome }),
              );
            break;
          }
          case 'pause':
            await mortal.attempt(moment, (ledger) =>
              ledger.pause({ scope: `policy/${n}`, reason: 'x', at: now, by: 'p' }),
            );
            break;
          case 'unpause':
            await mortal.attempt(moment, (ledger) => ledger.unpause({ at: now, reason: 'x', by: 'p' }));
            break;
          case 'plan': {
            const plan = planOf({ id: `${n}aaaaa`, hash: `${n}`.padEnd(64, 'a') });
            const stored = { plan, targets: [], savedAt: now, expiresAt: now + 1_000_000, state: 'pending' } as const;
            await mortal.attempt(moment, (ledger) => ledger.savePlan(stored));
            break;
          }
          case 'decide':
            await mortal.attempt(moment, (ledger) =>
              ledger.decidePlan(`${n}aaaaa`, { state: 'applied', at: now, by: 'p' }),
            );
            break;
          case 'trigger':
            await mortal.attempt(moment, (ledger) =>
              ledger.recordTrigger({
                policy,
                account: 'production',
                trigger: { kind: 'callback', key: String(n) },
                at: now,
              }),
            );
            break;
        }
      }
      const { ledger } = mortal;
      expect(ledger.mustBeAdopted).toBeUndefined();
      const verdict = await verifyAudit(mortal.auditPath, { known: mortal.knownHead });
      expect(verdict).toEqual({ records: mortal.knownHead!.sequence, head: mortal.knownHead, isTorn: false });
      const records = await Array.fromAsync(readAudit(mortal.auditPath));
      const withdrawn = new Set(records.filter(({ type }) => type === 'audit.not_committed').map((r) => r['record']));
      await countsAgree(
        ledger,
        records.filter(({ sequence }) => !withdrawn.has(sequence)),
        times,
      );
      mortal.close();
    }),
    { numRuns: 25 },
  );
});

/** Checks that the sums of the records are those of the ledger. */
async function countsAgree(
  ledger: Ledger,
  records: readonly AuditRecord[],
  times: ReadonlyMap<string, number>,
): Promise<void> {
  const intents = new Map<unknown, Told>();
  const outcomes = new Map<unknown, unknown>();
  const scopes = new Set<unknown>();
  for (const record of records) {
    switch (record.type) {
      case 'intent': {
        const at = times.get(String(record['lineage']))!;
        const told = { at, items: Number(record['items']), policy: record.policy!, active: true };
        intents.set(record['intent'], told);
        const inWindow = (other: Told, ms: number): boolean => other.active && other.at > at - ms;
        const sum = (of: readonly Told[]): number => of.reduce((total, { items }) => total + items, 0);
        const all = [...intents.values()];
        expect(sum(all.filter((other) => inWindow(other, 7_200_000)))).toBeLessThanOrEqual(10);
        expect(
          sum(all.filter((other) => inWindow(other, 3_600_000) && other.policy === told.policy)),
        ).toBeLessThanOrEqual(6);
        break;
      }
      case 'outcome':
        outcomes.set(record['intent'], record['outcome']);
        if (record['outcome'] === 'rejected' || record['outcome'] === 'confirmed_not_applied') {
          intents.get(record['intent'])!.active = false;
        }
        break;
      case 'pause':
        scopes.add(record['scope']);
        break;
      case 'unpause':
        for (const scope of record['scopes'] as readonly string[]) scopes.delete(scope);
        break;
      default:
    }
  }
  const actions = await ledger.recentActions(1_000);
  expect(actions.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
    [...intents.keys()].toSorted((a, b) => Number(a) - Number(b)),
  );
  for (const { id, outcome } of actions) expect(outcome).toBe(outcomes.get(id));
  expect(new Set((await ledger.pauses()).map(({ scope }) => scope))).toEqual(scopes);
  const claims = [...intents.values()].filter(({ active }) => active);
  expect((await ledger.used([{ scope: {}, since: 0 }]))[0]).toBe(claims.reduce((total, { items }) => total + items, 0));
}
