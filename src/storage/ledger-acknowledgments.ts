/** Acknowledgments of incidents. The latest one of an incident counts. */
import type { Acknowledgments } from '#automate/ledger/acknowledgments.ts';
import { run } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const PUT = `INSERT INTO incident_acknowledgments (incident, at, by, note) VALUES (?, ?, ?, ?)
  ON CONFLICT (incident) DO UPDATE SET at = excluded.at, by = excluded.by, note = excluded.note`;

export function createAcknowledgments({ write }: Journal): Acknowledgments {
  return {
    acknowledgeIncident: ({ incident, account, by, note, at }) =>
      write(function* (tell) {
        yield* run(PUT, incident, at, by, note);
        yield* tell({ type: 'incident.acknowledged', account, incident, by, reason: note });
      }, account),
  };
}
