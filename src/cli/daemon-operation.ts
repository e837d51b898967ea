/** Requests of commands to the daemon for operations of the service. The response is passed on as it is. */
import { CommandError } from './command.ts';
import { exchangeText, rejected, type DaemonCall } from './daemon-exchange.ts';

/** Keys of the operation, and `account` and `confirm`. Texts are read as on a command line. */
export type OperationKeys = Readonly<Record<string, unknown>>;

export interface OperationAnswer {
  /** Body of the service's response. */
  readonly text: string;
  /** Facts that are not in the response. */
  readonly notes: readonly string[];
}

/** The daemon requires a typed name; the message says which. Nothing was sent to the service. */
export class Unconfirmed extends CommandError {}

/** @throws {CommandError} if no daemon responds, or the daemon or the service rejects the operation */
export async function requestOperation(
  operation: string,
  keys: OperationKeys,
  call: DaemonCall,
): Promise<OperationAnswer> {
  const { status, text, headers } = await exchangeText(call, {
    method: 'POST',
    path: `/api/v1/operations/${encodeURIComponent(operation)}`,
    body: keys,
  });
  if (status >= 200 && status <= 299) {
    // Node joins repeated headers.
    const notes = String(headers['opsd-note'] ?? '');
    return { text, notes: notes === '' ? [] : notes.split(', ').map((note) => decodeURIComponent(note)) };
  }
  const error = rejected(call, { status, text });
  if (error.code === 'unconfirmed') throw new Unconfirmed(`${error.message}. Without a terminal, use --confirm NAME`);
  throw error;
}
