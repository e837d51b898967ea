/** Store of incidents: one row per incident, and one row per present member. */
import type { Acknowledgment, Incident } from '#foundation/domain/incident.ts';
import type { IncidentMark, IncidentMember, IncidentStore } from '#observe/incidents/incident-store.ts';
import { all, each, get, run, type Row } from './database.ts';
import { PART_ROWS, paged } from './paged.ts';
import { type RowScope, WHOLE, accountsParameter, isOwn, leaseFor } from './scope.ts';
import type { Store } from './sqlite.ts';

const MOST_MARKS = 200;

const PUT = `INSERT INTO incidents (id, account, record) VALUES (?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET account = excluded.account, record = excluded.record`;
const PUT_MEMBER = `INSERT INTO incident_members (account, queue, dlq_id, incident, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, queue, dlq_id) DO UPDATE SET incident = excluded.incident, at = excluded.at`;
const MOVE = 'UPDATE incident_members SET incident = ? WHERE account = ? AND incident = ?';
const SELECT_MARKS = 'SELECT at, kind, detail FROM incident_marks ORDER BY id';
const NEWEST_MARK = 'SELECT detail FROM incident_marks WHERE kind = ? ORDER BY id DESC LIMIT 1';
const PUT_MARK = 'INSERT INTO incident_marks (at, kind, detail) VALUES (?, ?, ?)';
const DROP_MARKS = `DELETE FROM incident_marks WHERE id <= (SELECT max(id) FROM incident_marks) - ${MOST_MARKS}`;

export function createIncidentStore({ database }: Pick<Store, 'database'>, scope: RowScope = WHOLE): IncidentStore {
  const { dialect } = database;
  const select = `SELECT incidents.record, newest.record AS acknowledged FROM incidents
    LEFT JOIN incident_acknowledgments AS newest ON incident = id
    WHERE ${isOwn(dialect, scope)} ORDER BY id`;
  const selectMembers = `SELECT account, queue, dlq_id AS "dlqId", incident, at FROM incident_members
    WHERE (account, queue, dlq_id) > (?2, ?3, ?4) AND ${isOwn(dialect, scope)}
    ORDER BY account, queue, dlq_id LIMIT ${PART_ROWS}`;
  const remove = `DELETE FROM incidents WHERE id IN ${dialect.members('?1')}`;
  const removeAcknowledgments = `DELETE FROM incident_acknowledgments WHERE incident IN ${dialect.members('?1')}`;
  const removeMembers = `DELETE FROM incident_members WHERE account = ?1 AND incident IN ${dialect.members('?2')}`;
  const removeMember = `DELETE FROM incident_members WHERE account = ?1 AND queue = ?2 AND dlq_id IN ${dialect.members('?3')}`;

  return {
    load: async () => (await database.read(all(select, accountsParameter(scope)))).map(incidentOf),
    readMembers(take) {
      const own = accountsParameter(scope);
      const after = (last?: IncidentMember) =>
        all<IncidentMember>(selectMembers, own, last?.account ?? '', last?.queue ?? '', last?.dlqId ?? '');
      return database.read(paged(after, take));
    },
    commit: ({ account, changed, added, removed, merged, forgotten }) =>
      database.transaction(
        function* () {
          yield* each(PUT, changed, (incident) => [incident.id, account, JSON.stringify(incident)]);
          yield* each(MOVE, merged, ([from, to]) => [to, account, from]);
          for (const [queue, gone] of Map.groupBy(removed, (member) => member.queue)) {
            yield* run(removeMember, account, queue, JSON.stringify(gone.map(({ dlqId }) => dlqId)));
          }
          yield* each(PUT_MEMBER, added, ({ queue, dlqId, incident, at }) => [account, queue, dlqId, incident, at]);
          const ended = [...merged.map(([from]) => from), ...forgotten];
          if (ended.length === 0) return;
          yield* run(remove, JSON.stringify(ended));
          yield* run(removeAcknowledgments, JSON.stringify(ended));
          yield* run(removeMembers, account, JSON.stringify(ended));
        },
        leaseFor(scope, account),
      ),
    marks: () => database.read(all<IncidentMark>(SELECT_MARKS)),
    mark: ({ at, kind, detail }) =>
      database.transaction(function* () {
        // Replicas that start at the same time add one mark.
        yield* get(`SELECT value FROM meta WHERE key = 'instance' ${dialect.locked}`);
        if ((yield* get(NEWEST_MARK, kind))?.['detail'] === detail) return;
        yield* run(PUT_MARK, at, kind, detail);
        yield* run(DROP_MARKS);
      }),
  };
}

/** An acknowledgment that the incident does not have yet counts. One that it has may have ended. */
function incidentOf({ record, acknowledged: given }: Row): Incident {
  const incident = JSON.parse(String(record)) as Incident;
  if (given === null) return incident;
  const acknowledged = JSON.parse(String(given)) as Acknowledgment;
  return acknowledged.at === incident.acknowledged?.at ? incident : { ...incident, acknowledged };
}
