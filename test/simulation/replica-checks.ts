/** Checks of what only replicas have: the audit log in PostgreSQL, leases, and the tables of commands. */
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { breakBetween, parseAuditRecord } from '#automate/ledger/audit-chain.ts';
import { checkTold } from './audit.ts';
import type { Checks } from './invariants.ts';
import type { SimPostgres } from './postgres/server.ts';
import { none } from './violation.ts';

const MINUTE = 60_000;

/** Checks the database after the end of all replicas. @param now epoch milliseconds */
export async function checkReplicas(checks: Checks, { books }: SimPostgres, now: number): Promise<void> {
  const arrivals = books.prepare('SELECT at, fact FROM canary_arrivals').all();
  checks.effects(
    books,
    arrivals.map(({ fact }) => String(fact)),
  );
  const records = books
    .prepare('SELECT record FROM audit ORDER BY sequence')
    .all()
    .map(({ record }) => parseAuditRecord(String(record)));
  none(
    'the audit log has only records',
    records.filter((record) => typeof record === 'string'),
  );
  const chain = records as readonly AuditRecord[];
  none(
    'the audit chain is whole',
    chain.flatMap((record, at) => breakBetween(chain[at - 1], record) ?? []),
  );
  const head = books.prepare("SELECT value FROM meta WHERE key = 'audit_head'").get();
  const last = chain.at(-1);
  none(
    'the store knows the last record',
    head?.['value'] === `${last?.sequence}:${last?.hash}` ? [] : [{ head, last }],
  );
  checkTold(chain, books);
  none(
    'every arrival of a canary is taken',
    arrivals.filter(({ at }) => Number(at) < now - MINUTE),
  );
  none('every replica has left', books.prepare('SELECT id FROM replicas').all());
  const open = "SELECT id, kind, state FROM commands WHERE state <> 'done' AND expires_at > ?";
  none('every command has ended or expired', books.prepare(open).all(now));
}
