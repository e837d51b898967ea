/** Requests to canaries that reached another replica than the owner of their account. */
import type { CanaryRelay, Relayed } from '#observe/canary/relay.ts';
import { all, each, get, records, run, type Database } from '../database.ts';
import { DATABASE_CLOCK } from './lease-table.ts';

/** Time after which no one applies a request any more: its canary is not configured. */
const KEEP_MS = 3_600_000;

const SIZE = `SELECT record FROM canary_rounds WHERE account = ? AND strpos(record, ?) > 0`;
const PUT = `INSERT INTO canary_arrivals (account, canary, at, fact) VALUES (?, ?, ${DATABASE_CLOCK}, ?) RETURNING id`;
const READ = `SELECT id, ${DATABASE_CLOCK} - at AS ago, fact FROM canary_arrivals
  WHERE account = ? AND canary = ? ORDER BY id`;
const DELETE = 'DELETE FROM canary_arrivals WHERE id = ?';
const DELETE_OLD = `DELETE FROM canary_arrivals WHERE at < ${DATABASE_CLOCK} - ${KEEP_MS}`;

export function createCanaryRelay(database: Database): CanaryRelay {
  return {
    async sizeOf({ account, canary }, nonce) {
      const rounds = await database.read(records<Record<string, unknown>>(SIZE, account, nonce));
      const found = rounds.find((round) => round['nonce'] === nonce && round['canary'] === canary);
      return found && Number(found['bytes']);
    },
    put: ({ account, canary }, fact) =>
      database.transaction(function* () {
        yield* run(DELETE_OLD);
        return Number((yield* get(PUT, account, canary, JSON.stringify(fact)))?.['id']);
      }),
    async read({ account, canary }) {
      const rows = await database.read(all(READ, account, canary));
      return rows.map(({ id, ago, fact }) => ({
        id: Number(id),
        agoMs: Math.max(0, Number(ago)),
        fact: JSON.parse(String(fact)) as Relayed['fact'],
      }));
    },
    async delete({ account }, ids) {
      if (ids.length > 0)
        await database.transaction(
          each(DELETE, ids, (id) => [id]),
          account,
        );
    },
  };
}
