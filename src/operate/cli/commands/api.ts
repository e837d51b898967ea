import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest } from '#foundation/domain/suggest.ts';
import { readValues } from '#service/operation-values.ts';
import { checkSelection } from '#service/raw-request.ts';
import { InvalidRequestError } from '#service/service-error.ts';
import { OPERATIONS, operationNamed, type Operation } from '#service/operations.ts';
import { CommandError, EXIT, textOption, UsageError, type Call, type Command } from '../command.ts';
import { confirm, CONFIRM_OPTION, YES_OPTION } from '../confirm.ts';
import { requestOperation, Unconfirmed, type OperationAnswer, type OperationKeys } from '../daemon-operation.ts';
import { DAEMON_OPTIONS, findDaemon } from '../daemon-option.ts';
import type { DaemonCall } from '../daemon-exchange.ts';
import { OUTPUT_OPTION, outputFormat, printable, textTable, writeData } from '../output.ts';
import { answerTable } from './api-table.ts';

export const apiCommand: Command = {
  name: 'api',
  summary: 'Send one operation of the service, by the interface’s name.',
  operands: { usage: '[OPERATION [KEY=VALUE…]]', min: 0, max: Infinity },
  options: {
    body: { type: 'string', value: 'FILE', help: 'Body of a message: a file, or - for stdin.' },
    account: { type: 'string', value: 'NAME', help: 'Account; needed if there are several.' },
    yes: YES_OPTION,
    confirm: CONFIRM_OPTION,
    output: OUTPUT_OPTION,
    ...DAEMON_OPTIONS,
  },
  details:
    'Without OPERATION it lists the operations, and without KEY=VALUE, with --help, the keys of the operation. Arrays and\n' +
    'objects are JSON; a list is also a,b. -o json prints the response unchanged; only tokens are replaced by [secret].\n' +
    'The daemon sends the operation: with its credentials, its request budget, and for a write its audit log. Without a\n' +
    'running daemon, --config FILE sends it from this process. A write asks first. Exit code: 0 if the service accepted\n' +
    'it, 1 if not.',
  examples: [
    'opsd api list-logs state=ERROR count=20 -o json',
    'opsd api publish destination=https://example.com/hook body=hello label=test',
  ],
  helpOf: ([name]) => (name === undefined ? undefined : operationHelp(name)),
  async run(call) {
    const [name, ...words] = call.positionals;
    if (name === undefined) return list(call);
    const operation = namedOperation(name);
    const format = outputFormat(call.values);
    const keys = await keysOf(operation, words, call);
    checkKeys(operation, keys);
    const isWrite = operation.method !== 'GET';
    if (isWrite) call.io.stderr.write(preview(operation, keys));
    const asksName = operation.confirm !== undefined && operation.confirm !== 'lower-budget';
    const daemon = await findDaemon(call, { writes: isWrite, collectors: [] });
    if (daemon === undefined) return EXIT.failed;
    if (isWrite && !asksName && textOption(call.values, 'confirm') === undefined) await confirm(call, `Send ${name}?`);
    await show(await send(call, { operation, keys, daemon }), { call, format });
    return EXIT.ok;
  },
};

function list({ io }: Call): number {
  const rows = OPERATIONS.map(({ name, method, summary }) => [name, method === 'GET' ? 'read' : 'write', summary]);
  io.stdout.write(textTable(['OPERATION', 'KIND', 'PURPOSE'], rows));
  return EXIT.ok;
}

function namedOperation(name: string): Operation {
  const found = operationNamed(name);
  if (found !== undefined) return found;
  const meant = nearest(
    name,
    OPERATIONS.map((operation) => operation.name),
  );
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  throw new UsageError(`the service has no operation '${name}'${hint} \`opsd api\` lists them`);
}

/** Keys of one operation, for `opsd api OPERATION --help`. */
function operationHelp(name: string): string {
  const { keys, summary, method } = namedOperation(name);
  const rows = Object.entries(keys).map(([key, { kind, values, help, required }]) => [
    key,
    required === true ? 'required' : '',
    values === undefined ? (FORMS[kind] ?? 'text') : values.join('|'),
    help,
  ]);
  const table = rows.length === 0 ? 'It has no keys.\n' : textTable(['KEY', '', 'VALUE', 'MEANING'], rows);
  return `${name} (${method === 'GET' ? 'read' : 'write'}): ${summary}\n\n${table}`;
}

const FORMS: Readonly<Record<string, string>> = {
  texts: 'a,b',
  ids: 'a,b',
  redactions: 'a,b',
  statuses: '500,503',
  time: 'milliseconds',
  seconds: 'seconds',
  count: 'integer',
  amount: 'integer',
  budget: 'integer',
  duration: '1h30m',
  url: 'URL',
  headers: '{"Name": "value"}',
  endpoints: '[{"url": "…"}]',
  boolean: 'true|false',
};

const LISTS = new Set(['texts', 'ids', 'statuses', 'redactions']);

/** Reads `key=value` words. A repeated key makes a list, if its key takes one. */
async function keysOf(operation: Operation, words: readonly string[], call: Call): Promise<OperationKeys> {
  const keys: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`${operation.name} needs KEY=VALUE, not '${word}'`);
    const [key, value] = [word.slice(0, at), word.slice(at + 1)];
    if (!Object.hasOwn(keys, key)) keys[key] = value;
    else if (LISTS.has(operation.keys[key]?.kind ?? '')) keys[key] = [keys[key], value].flat();
    else throw new UsageError(`${operation.name}: ${key} is given twice`);
  }
  for (const reserved of ['account', 'confirm']) {
    if (Object.hasOwn(keys, reserved)) throw new UsageError(`use --${reserved} instead of ${reserved}=…`);
  }
  if (typeof keys['tokenFile'] === 'string') keys['tokenFile'] = resolve(keys['tokenFile']);
  const file = textOption(call.values, 'body');
  if (file === undefined) return keys;
  if (Object.hasOwn(keys, 'body')) throw new UsageError('body=… and --body name two bodies; remove one of them');
  if (operation.keys['body'] === undefined) throw new UsageError(`${operation.name} has no body`);
  return { ...keys, body: file === '-' ? await call.io.readInput() : readText(file) };
}

/** Checks the keys here as well: a wrong command line is reported without a daemon. */
function checkKeys(operation: Operation, keys: OperationKeys): void {
  try {
    checkSelection(operation, readValues(operation, keys));
  } catch (error) {
    throw error instanceof InvalidRequestError ? new UsageError(error.message) : error;
  }
}

function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CommandError(`${file} is not UTF-8 text`);
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

interface Sending {
  readonly operation: Operation;
  readonly keys: OperationKeys;
  readonly daemon: DaemonCall;
}

/** Sends the operation, with the typed name if the daemon requires one. Nothing was sent to the service before. */
async function send(call: Call, { operation, keys, daemon }: Sending): Promise<OperationAnswer> {
  const account = textOption(call.values, 'account');
  const given = textOption(call.values, 'confirm');
  const request = { ...keys, ...(account !== undefined && { account }) };
  try {
    return await requestOperation(
      operation.name,
      { ...request, ...(given !== undefined && { confirm: given }) },
      daemon,
    );
  } catch (error) {
    if (!(error instanceof Unconfirmed) || given !== undefined || call.io.ask === undefined) throw error;
    call.io.stderr.write(`${error.message}\n`);
    const typed = (await call.io.ask('Type the name to confirm: ')).trim();
    if (typed === '') throw new CommandError('not confirmed; nothing was done');
    return requestOperation(operation.name, { ...request, confirm: typed }, daemon);
  }
}

async function show(
  { text, notes }: OperationAnswer,
  { call: { io }, format }: { readonly call: Call; readonly format: 'table' | 'json' | 'yaml' },
): Promise<void> {
  for (const note of notes) io.stderr.write(`${printable(note)}\n`);
  if (format === 'json') {
    io.stdout.write(text);
    if (io.stdout.isTTY === true && !text.endsWith('\n')) io.stdout.write('\n');
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    io.stdout.write(text.trim() === '' ? '' : `${printable(text.trim())}\n`);
    return;
  }
  if (format === 'yaml') await writeData(io, 'yaml', value);
  else io.stdout.write(answerTable(value));
}
