/** Store of incidents on SQLite: one row per incident, and one row per present member. */
import type { Acknowledgment, Incident } from '#foundation/domain/incident.ts';
import type { IncidentMark, IncidentMember, IncidentStore } from '#observe/incidents/incident-store.ts';
import { transaction } from './sqlite-transaction.ts';
import type { Store } from './sqlite.ts';

const MOST_MARKS = 200;

export function createIncidentStore({ db }: Pick<Store, 'db'>): IncidentStore {
  const put = db.prepare('INSERT OR REPLACE INTO incidents (id, record) VALUES (?, ?)');
  const remove = db.prepare('DELETE FROM incidents WHERE id = ?');
  const removeAcknowledgment = db.prepare('DELETE FROM incident_acknowledgments WHERE incident = ?');
  const putMember = db.prepare(
    'INSERT OR REPLACE INTO incident_members (account, queue, dlq_id, incident, at) VALUES (?, ?, ?, ?, ?)',
  );
  const removeMember = db.prepare('DELETE FROM incident_members WHERE account = ? AND queue = ? AND dlq_id = ?');
  const removeMembers = db.prepare('DELETE FROM incident_members WHERE incident = ?');
  const move = db.prepare('UPDATE incident_members SET incident = ? WHERE incident = ?');
  const newestMark = db.prepare('SELECT detail FROM incident_marks WHERE kind = ? ORDER BY id DESC LIMIT 1');
  const putMark = db.prepare('INSERT INTO incident_marks (at, kind, detail) VALUES (?, ?, ?)');
  const dropMarks = db.prepare('DELETE FROM incident_marks WHERE id <= (SELECT max(id) FROM incident_marks) - ?');

  function acknowledgments(): Map<string, Acknowledgment> {
    const rows = db.prepare('SELECT incident, at, by, note FROM incident_acknowledgments').all();
    return new Map(
      rows.map(({ incident, at, by, note }) => [
        String(incident),
        { by: String(by), note: String(note), at: Number(at) },
      ]),
    );
  }

  return {
    load() {
      const known = acknowledgments();
      const rows = db.prepare('SELECT record FROM incidents ORDER BY id').all();
      return rows.map(({ record }) => {
        const incident = JSON.parse(String(record)) as Incident;
        const acknowledged = known.get(incident.id);
        return acknowledged === undefined ? incident : { ...incident, acknowledged };
      });
    },
    *members(): Iterable<IncidentMember> {
      const rows = db.prepare('SELECT account, queue, dlq_id, incident, at FROM incident_members').iterate();
      for (const { account, queue, dlq_id: dlqId, incident, at } of rows) {
        yield {
          account: String(account),
          queue: String(queue) as IncidentMember['queue'],
          dlqId: String(dlqId),
          incident: String(incident),
          at: Number(at),
        };
      }
    },
    commit({ changed, added, removed, merged, forgotten }) {
      transaction(db, () => {
        for (const incident of changed) put.run(incident.id, JSON.stringify(incident));
        for (const [from, to] of merged) {
          move.run(to, from);
          remove.run(from);
          removeAcknowledgment.run(from);
        }
        for (const { account, queue, dlqId } of removed) removeMember.run(account, queue, dlqId);
        for (const { account, queue, dlqId, incident, at } of added) {
          putMember.run(account, queue, dlqId, incident, at);
        }
        for (const id of forgotten) {
          remove.run(id);
          removeAcknowledgment.run(id);
          removeMembers.run(id);
        }
      });
    },
    marks() {
      return db
        .prepare('SELECT at, kind, detail FROM incident_marks ORDER BY id')
        .all()
        .map(({ at, kind, detail }) => ({
          at: Number(at),
          kind: String(kind) as IncidentMark['kind'],
          detail: String(detail),
        }));
    },
    mark({ at, kind, detail }) {
      if (newestMark.get(kind)?.['detail'] === detail) return;
      putMark.run(at, kind, detail);
      dropMarks.run(MOST_MARKS);
    },
  };
}
