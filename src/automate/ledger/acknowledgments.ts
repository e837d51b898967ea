/** Acknowledgments and snoozes of incidents by operators. */
import type { Acknowledgment } from '#foundation/domain/incident.ts';

export interface Acknowledgments {
  /** Records that an operator knows of an incident, or snoozed it. Durable, and in the audit log before it takes effect. */
  acknowledgeIncident(
    incident: { readonly id: string; readonly account: string },
    acknowledged: Acknowledgment,
  ): Promise<void>;
}
