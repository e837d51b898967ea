/** Sends one operation of the service through the daemon: shows a write, asks for it, and shows the response. */
import { jsonOf } from '#foundation/domain/json.ts';
import { readValues } from '#service/operation-values.ts';
import type { Operation } from '#service/operations.ts';
import { checkSelection } from '#service/request.ts';
import { InvalidRequestError } from '#service/service-error.ts';
import { bytesOf, CommandError, EXIT, textOption, UsageError, type Call } from '../command.ts';
import { confirm } from '../confirm.ts';
import { exchangeText, rejected, DaemonRejection, type DaemonCall } from '../daemon-exchange.ts';
import { findDaemon } from '../daemon-option.ts';
import { outputFormat, printable, writeData, writeDocument, type ListFormat } from '../output.ts';
import { answerTable } from './api-table.ts';

/** View of a response. */
export interface AnswerView {
  readonly formats: readonly ListFormat[];
  /** Part of the response that the command shows; default: all of it. */
  readonly select?: (answer: unknown, call: Call) => unknown;
  readonly text: (answer: unknown, format: Exclude<ListFormat, 'json' | 'yaml'>, call: Call) => string;
}

/** Keys of an operation, and `account` and `confirm`. Texts are read as on a command line. */
export type OperationKeys = Readonly<Record<string, unknown>>;

const PLAIN_VIEW: AnswerView = { formats: ['table', 'json', 'yaml'], text: answerTable };

export interface OperationCall {
  readonly operation: Operation;
  readonly keys: OperationKeys;
  readonly view?: AnswerView;
}

export async function runOperation(call: Call, { operation, keys, view = PLAIN_VIEW }: OperationCall): Promise<number> {
  const format = outputFormat(call.values, view.formats);
  checkKeys(operation, keys);
  const isWrite = operation.method !== 'GET';
  if (isWrite) call.io.stderr.write(preview(operation, keys));
  const asksName = operation.confirm !== undefined && operation.confirm !== 'lower-budget';
  // A command without a daemon holds the store from here on, so it asks first.
  if (isWrite && !asksName && textOption(call.values, 'confirm') === undefined) {
    await confirm(call, `Send ${operation.name}?`);
  }
  const daemon = await findDaemon(call, { writes: isWrite, collectors: [] });
  await show(await send(call, { operation, keys }, daemon), { call, format, view });
  return EXIT.ok;
}

/** Text of a file, or of stdin for `-`. */
export async function bodyText(call: Call, file: string): Promise<string> {
  const bytes = await bytesOf(call, file);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError(`${file} is not UTF-8 text`);
  }
}

/** Checks the keys here as well: a wrong command line is reported without a daemon. */
function checkKeys(operation: Operation, keys: OperationKeys): void {
  try {
    checkSelection(operation, readValues(operation, keys));
  } catch (error) {
    throw error instanceof InvalidRequestError ? new UsageError(error.message) : error;
  }
}

/** Shows what a write sends, as the command that sends it. A body is shown by its size only. */
function preview({ name, method, path, summary }: Operation, keys: OperationKeys): string {
  const lines = Object.entries(keys).map(([key, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const shown = key === 'body' ? `(${Buffer.byteLength(text)} bytes)` : printable(text);
    return `  ${key}: ${shown}\n`;
  });
  return `${name}: ${summary}\n  ${method} ${path}\n${lines.join('')}`;
}

/** Sends the operation, with the typed name if the daemon requires one. Nothing was sent to the service before. */
async function send(call: Call, { operation, keys }: OperationCall, daemon: DaemonCall): Promise<OperationAnswer> {
  const account = textOption(call.values, 'account');
  const given = textOption(call.values, 'confirm');
  const request = { ...keys, account };
  try {
    return await requestOperation(operation.name, { ...request, confirm: given }, daemon);
  } catch (error) {
    // The daemon requires a typed name, which the message has.
    if (!(error instanceof DaemonRejection) || error.code !== 'unconfirmed') throw error;
    const why = `${error.message}. Without a terminal, use --confirm NAME`;
    if (given !== undefined || call.io.ask === undefined) throw new CommandError(why, { cause: error });
    call.io.stderr.write(`${why}\n`);
    const typed = (await call.io.ask('Type the name to confirm: ')).trim();
    if (typed === '') throw new CommandError('not confirmed; nothing was done');
    return requestOperation(operation.name, { ...request, confirm: typed }, daemon);
  }
}

interface OperationAnswer {
  /** Body of the service's response, as it is. */
  readonly text: string;
  /** Facts that are not in the response. */
  readonly notes: readonly string[];
}

/** @throws {CommandError} if no daemon responds, or the daemon or the service rejects the operation */
export async function requestOperation(
  operation: string,
  body: OperationKeys,
  daemon: DaemonCall,
): Promise<OperationAnswer> {
  const path = `/api/v1/operations/${encodeURIComponent(operation)}`;
  const answer = await exchangeText(daemon, { method: 'POST', path, body });
  if (answer.status < 200 || answer.status > 299) throw rejected(daemon, answer);
  // Node joins repeated headers.
  const notes = String(answer.headers['opsd-note'] ?? '');
  return { text: answer.text, notes: notes === '' ? [] : notes.split(', ').map((note) => decodeURIComponent(note)) };
}

async function show(
  { text, notes }: OperationAnswer,
  { call, format, view }: { readonly call: Call; readonly format: ListFormat; readonly view: AnswerView },
): Promise<void> {
  const { io } = call;
  for (const note of notes) io.stderr.write(`${printable(note)}\n`);
  if (format === 'json' && view.select === undefined) {
    io.stdout.write(text);
    if (io.stdout.isTTY === true && !text.endsWith('\n')) io.stdout.write('\n');
    return;
  }
  const value = jsonOf(text);
  if (value === undefined) {
    io.stdout.write(text.trim() === '' ? '' : `${printable(text.trim())}\n`);
    return;
  }
  const shown = view.select === undefined ? value : view.select(value, call);
  // JSON is the service's own data, as without a selection.
  if (format === 'json') writeDocument(io, shown);
  else if (format === 'yaml') await writeData(io, format, shown);
  else io.stdout.write(view.text(shown, format, call));
}
