/** Store of incidents: one row per incident, and one row per present member. */
import type { Acknowledgment, Incident } from '#foundation/domain/incident.ts';
import type { IncidentMark, IncidentMember, IncidentStore } from '#observe/incidents/incident-store.ts';
import { all, each, get, run, type Row } from './database.ts';
import { PART_ROWS, paged } from './paged.ts';
import type { Store } from './sqlite.ts';

const MOST_MARKS = 200;

const SELECT = 'SELECT record FROM incidents ORDER BY id';
const SELECT_ACKNOWLEDGMENTS = 'SELECT incident, at, by, note FROM incident_acknowledgments';
const PUT = 'INSERT INTO incidents (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record';
const SELECT_MEMBERS = `SELECT account, queue, dlq_id, incident, at FROM incident_members
  WHERE (account, queue, dlq_id) > (?, ?, ?) ORDER BY account, queue, dlq_id LIMIT ${PART_ROWS}`;
const PUT_MEMBER = `INSERT INTO incident_members (account, queue, dlq_id, incident, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, queue, dlq_id) DO UPDATE SET incident = excluded.incident, at = excluded.at`;
const MOVE = 'UPDATE incident_members SET incident = ? WHERE incident = ?';
const SELECT_MARKS = 'SELECT at, kind, detail FROM incident_marks ORDER BY id';
const NEWEST_MARK = 'SELECT detail FROM incident_marks WHERE kind = ? ORDER BY id DESC LIMIT 1';
const PUT_MARK = 'INSERT INTO incident_marks (at, kind, detail) VALUES (?, ?, ?)';
const DROP_MARKS = `DELETE FROM incident_marks WHERE id <= (SELECT max(id) FROM incident_marks) - ${MOST_MARKS}`;

export function createIncidentStore({ database }: Pick<Store, 'database'>): IncidentStore {
  const { dialect } = database;
  const remove = `DELETE FROM incidents WHERE id IN ${dialect.members('?1')}`;
  const removeAcknowledgments = `DELETE FROM incident_acknowledgments WHERE incident IN ${dialect.members('?1')}`;
  const removeMembers = `DELETE FROM incident_members WHERE incident IN ${dialect.members('?1')}`;
  const removeMember = `DELETE FROM incident_members WHERE account = ?1 AND queue = ?2 AND dlq_id IN ${dialect.members('?3')}`;

  return {
    load: () =>
      database.read(
        (function* () {
          const known = new Map<unknown, Acknowledgment>();
          for (const { incident, at, by, note } of yield* all(SELECT_ACKNOWLEDGMENTS)) {
            known.set(incident, { by: String(by), note: String(note), at: Number(at) });
          }
          return (yield* all(SELECT)).map(({ record }) => {
            const incident = JSON.parse(String(record)) as Incident;
            const acknowledged = known.get(incident.id);
            return acknowledged === undefined ? incident : { ...incident, acknowledged };
          });
        })(),
      ),
    readMembers: (take) =>
      database.read(
        paged(
          ({ account = '', queue = '', dlq_id: dlqId = '' } = {}) => all(SELECT_MEMBERS, account, queue, dlqId),
          (row) => take(memberOf(row)),
        ),
      ),
    commit: ({ account, changed, added, removed, merged, forgotten }) =>
      database.transaction(
        (function* () {
          yield* each(
            PUT,
            changed.map((incident) => [incident.id, JSON.stringify(incident)]),
          );
          yield* each(
            MOVE,
            merged.map(([from, to]) => [to, from]),
          );
          for (const [queue, gone] of Map.groupBy(removed, (member) => member.queue)) {
            yield* run(removeMember, account, queue, JSON.stringify(gone.map(({ dlqId }) => dlqId)));
          }
          yield* each(
            PUT_MEMBER,
            added.map(({ queue, dlqId, incident, at }) => [account, queue, dlqId, incident, at]),
          );
          const ended = [...merged.map(([from]) => from), ...forgotten];
          if (ended.length === 0) return;
          yield* run(remove, JSON.stringify(ended));
          yield* run(removeAcknowledgments, JSON.stringify(ended));
          yield* run(removeMembers, JSON.stringify(ended));
        })(),
        account,
      ),
    marks: () =>
      database.read(
        (function* () {
          return (yield* all(SELECT_MARKS)).map(({ at, kind, detail }) => ({
            at: Number(at),
            kind: String(kind) as IncidentMark['kind'],
            detail: String(detail),
          }));
        })(),
      ),
    mark: ({ at, kind, detail }) =>
      database.transaction(
        (function* () {
          if ((yield* get(NEWEST_MARK, kind))?.['detail'] === detail) return;
          yield* run(PUT_MARK, at, kind, detail);
          yield* run(DROP_MARKS);
        })(),
      ),
  };
}

function memberOf({ account, queue, dlq_id: dlqId, incident, at }: Row): IncidentMember {
  return {
    account: String(account),
    queue: String(queue) as IncidentMember['queue'],
    dlqId: String(dlqId),
    incident: String(incident),
    at: Number(at),
  };
}
