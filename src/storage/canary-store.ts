/** Store of canaries: one row per message, and one row per canary. */
import type { CanaryStore, RoundRecord, StateRecord } from '#observe/canary/store.ts';
import { each, records, run } from './database.ts';
import { addMeta, metaValue } from './meta.ts';
import { type RowScope, WHOLE, accountsParameter, isOwn, leaseFor } from './scope.ts';
import type { Store } from './sqlite.ts';

const KEY = 'canary_key';

const PUT_ROUND = `INSERT INTO canary_rounds (id, account, record) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET record = excluded.record`;
const PUT_STATE = `INSERT INTO canary_states (account, canary, record) VALUES (?, ?, ?)
  ON CONFLICT (account, canary) DO UPDATE SET record = excluded.record`;
const DELETE_ROUND = 'DELETE FROM canary_rounds WHERE id = ?';

export function createCanaryStore({ database }: Pick<Store, 'database'>, scope: RowScope = WHOLE): CanaryStore {
  const isOwned = isOwn(database.dialect, scope);
  const selectRounds = `SELECT record FROM canary_rounds WHERE ${isOwned} ORDER BY id`;
  const selectStates = `SELECT record FROM canary_states WHERE ${isOwned} ORDER BY account, canary`;
  return {
    key: (proposed) =>
      database.transaction(function* () {
        yield* addMeta(KEY, proposed);
        return (yield* metaValue(KEY))!;
      }),
    load: () =>
      database.read(function* () {
        const rounds = yield* records<RoundRecord>(selectRounds, accountsParameter(scope));
        return { rounds, states: yield* records<StateRecord>(selectStates, accountsParameter(scope)) };
      }),
    save: ({ rounds, state, forget = [], relayed }) =>
      database.transaction(
        function* () {
          yield* each(PUT_ROUND, rounds, (round) => [round.id, round.account, JSON.stringify(round)]);
          if (state !== undefined) yield* run(PUT_STATE, state.account, state.canary, JSON.stringify(state));
          for (const id of forget) yield* run(DELETE_ROUND, id);
          // Only replicas relay requests.
          if (relayed !== undefined) yield* run('DELETE FROM canary_arrivals WHERE id = ?', relayed);
        },
        rounds[0] && leaseFor(scope, rounds[0].account),
      ),
  };
}
