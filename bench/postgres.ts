/**
 * Commits a second on SQLite and on PostgreSQL, which take turns in one run: changes of the ledger, each with its audit
 * record, and commits of 20 counters. Both wait for the disk.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#foundation/platform/clock.ts';
import type { Database } from '#storage/database.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';
import { openAuditLog } from '#storage/audit-file.ts';
import { createPostgresJournal } from '#storage/postgres/postgres-journal.ts';
import { openStore } from '#storage/sqlite.ts';
import { createLedger, openLedger } from '#storage/sqlite-ledger.ts';
import { createTotals } from '#storage/totals.ts';
import { NO_CAPS, planOf, resumeOf } from '../test/support/ledger-facts.ts';
import { figures } from './measure.ts';
import { emptyPostgres } from './postgres-store.ts';

const COMMITS = Number(process.env['COMMITS'] ?? 500);
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const folder = mkdtempSync(join(tmpdir(), 'opsd-bench-postgres-'));

/** Commits per second, in order of the columns. */
type Rates = readonly [intents: number, counters: number, parallel: number];

async function rates(database: Database, ledger: Ledger): Promise<Rates> {
  const run = await ledger.beginRun(planOf(), 1_000);
  const totals = createTotals({ database });
  const counters = (account: string): Promise<unknown> =>
    totals.commit(account, () => ({
      increments: Array.from({ length: 20 }, (_, n) => ({
        metric: 'msgsvc_log_events_total',
        labels: [`S${n}`],
        by: 1,
      })),
    }));
  const each = async (work: (nth: number) => Promise<unknown>): Promise<number> => {
    const started = performance.now();
    for (let nth = 0; nth < COMMITS; nth++) await work(nth);
    return COMMITS / ((performance.now() - started) / 1_000);
  };
  const intents = await each((nth) => ledger.reserve(run, resumeOf(`entry ${nth}`), 1_000, NO_CAPS));
  const alone = await each(() => counters('one'));
  const accounts = Array.from({ length: 8 }, (_, n) => `account ${n}`);
  const together = await each((nth) => (nth % 8 === 0 ? Promise.all(accounts.map(counters)) : Promise.resolve()));
  return [intents, alone, together];
}

async function onSqlite(nth: number): Promise<Rates> {
  using store = openStore(join(folder, `${nth}.db`));
  const audit = openAuditLog(store, systemClock);
  return await rates(store.database, await openLedger(store, audit));
}

async function onPostgres(): Promise<Rates> {
  await using store = await emptyPostgres();
  const { journal } = createPostgresJournal({ database: store.database, clock: systemClock, ...store.identity });
  return await rates(store.database, createLedger(journal, { problem: undefined, distrust: undefined }));
}

try {
  const rounds: { readonly sqlite: Rates; readonly postgres: Rates }[] = [];
  // Round 0 warms up and is not printed.
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = { sqlite: await onSqlite(round), postgres: await onPostgres() };
    if (round > 0) rounds.push(measured);
  }
  console.log(`${COMMITS} commits, ${ROUNDS} rounds`.padEnd(46), '   SQLite  PostgreSQL  ratio');
  for (const [column, name] of [
    'intent with its audit record',
    '20 counters of one account',
    '20 counters, 8 accounts at once',
  ].entries()) {
    const median = (of: (round: (typeof rounds)[number]) => number): number => figures(rounds.map(of)).median;
    const cells = [
      Math.round(median(({ sqlite }) => sqlite[column]!)),
      Math.round(median(({ postgres }) => postgres[column]!)),
      median(({ sqlite, postgres }) => postgres[column]! / sqlite[column]!).toFixed(2),
    ];
    console.log(name.padEnd(46), ...cells.map((cell) => String(cell).padStart(9)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
