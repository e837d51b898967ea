/** Looks up a message in the message log: does it exist, and which workflow run does it belong to? */
import type { ServiceClient } from '#service/api.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';

/**
 * Never rejects.
 *
 * @returns an entry of the message; undefined if the log has none; a text if the log cannot be read
 */
export async function findMessage(
  client: ServiceClient | undefined,
  messageId: string,
  signal: AbortSignal,
): Promise<LogEntry | string | undefined> {
  if (client?.message === undefined) return undefined;
  try {
    const { value } = await client.message.listLogs({ messageId, count: 100 }, { signal });
    // The service may ignore the filter.
    const entries = value.filter((entry) => entry.messageId === messageId);
    return entries.find(({ workflowRunId }) => workflowRunId !== undefined) ?? entries[0];
  } catch (error) {
    return errorMessage(error);
  }
}
