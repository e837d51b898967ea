/** Looks a message up in the message log: whether it exists, and the workflow run that it belongs to. */
import type { ServiceClient } from '#service/api.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';

/**
 * Never rejects.
 *
 * @returns an entry of the message; undefined when the log has none, a text when it cannot be read
 */
export async function findMessage(
  client: ServiceClient | undefined,
  messageId: string,
  signal: AbortSignal,
): Promise<LogEntry | string | undefined> {
  if (client?.message === undefined) return undefined;
  try {
    const { value } = await client.message.listLogs({ messageId, count: 100 }, { signal });
    // A service may ignore the filter.
    const entries = value.filter((entry) => entry.messageId === messageId);
    return entries.find(({ workflowRunId }) => workflowRunId !== undefined) ?? entries[0];
  } catch (error) {
    return errorMessage(error);
  }
}
