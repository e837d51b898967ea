/** Acknowledgments and snoozes of incidents. The latest one of an incident counts. */
import type { Acknowledgments } from '#automate/ledger/acknowledgments.ts';
import { isSnoozed } from '#foundation/domain/incident.ts';
import { run } from './database.ts';
import type { Journal } from './ledger-journal.ts';

const PUT = `INSERT INTO incident_acknowledgments (incident, record) VALUES (?, ?)
  ON CONFLICT (incident) DO UPDATE SET record = excluded.record`;

export function createAcknowledgments({ write }: Journal): Acknowledgments {
  return {
    acknowledgeIncident: ({ id: incident, account }, acknowledged) =>
      write(function* (tell) {
        const { by, note, until, untilDeploy } = acknowledged;
        const what = { account, incident, by, ...(note !== '' && { reason: note }) };
        yield* run(PUT, incident, JSON.stringify(acknowledged));
        if (isSnoozed({ acknowledged })) yield* tell({ type: 'incident.snoozed', ...what, until, untilDeploy });
        else yield* tell({ type: 'incident.acknowledged', ...what });
      }, account),
  };
}
