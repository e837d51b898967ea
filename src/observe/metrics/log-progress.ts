/** Projects messages in flight and the entry mode of the log to gauges. */
import { destinationLabel } from './labels.ts';
import type { Project } from './projection.ts';
import { seconds } from './values.ts';

export const projectLogs: Project<'logs'> = ({ account, rows }, put) => {
  for (const { entryMode = 'unknown', inFlight = [] } of rows) {
    put('opsd_log_entry_mode_info', { account, mode: entryMode }, 1);
    for (const { destination: name, messages, oldestDueAt } of inFlight) {
      const destination = destinationLabel(name);
      put('msgsvc_messages_in_flight', { account, destination }, messages);
      put('msgsvc_messages_oldest_due_timestamp_seconds', { account, destination }, seconds(oldestDueAt));
    }
  }
};
