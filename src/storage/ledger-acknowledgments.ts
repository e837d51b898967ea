/** Acknowledgments of incidents. The latest one of an incident counts. */
import type { Acknowledgments } from '#automate/ledger/acknowledgments.ts';
import type { Journal } from './ledger-journal.ts';

export function createAcknowledgments({ db, change }: Journal): Acknowledgments {
  const put = db.prepare(
    'INSERT OR REPLACE INTO incident_acknowledgments (incident, at, by, note) VALUES (?, ?, ?, ?)',
  );
  return {
    acknowledgeIncident: ({ incident, account, by, note, at }) =>
      change((tell) => {
        put.run(incident, at, by, note);
        tell({ type: 'incident.acknowledged', account, incident, by, reason: note });
      }),
  };
}
