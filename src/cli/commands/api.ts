import { resolve } from 'node:path';
import { suggestion } from '#foundation/domain/suggest.ts';
import { OPERATIONS, operationNamed, type Operation } from '#service/operations.ts';
import { EXIT, textOption, UsageError, valueOption, type Call, type Command } from '../command.ts';
import { CONFIRM_OPTION, YES_OPTION } from '../confirm.ts';
import { DAEMON_OPTIONS } from '../daemon-option.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { OUTPUT_OPTION, textTable } from '../output.ts';
import { bodyText, runOperation, type OperationKeys } from './operation-call.ts';

export const apiCommand: Command = {
  name: 'api',
  summary: 'Send one operation of the service, by the interface’s name.',
  operands: { usage: '[OPERATION [KEY=VALUE…]]', min: 0, max: Infinity },
  options: {
    body: valueOption('FILE', 'Body of a message: a file, or - for stdin.'),
    account: ACCOUNT_OPTION,
    yes: YES_OPTION,
    confirm: CONFIRM_OPTION,
    output: OUTPUT_OPTION,
    ...DAEMON_OPTIONS,
  },
  details:
    'Without OPERATION it lists the operations, and without KEY=VALUE, with --help, the keys of the operation. Arrays and ' +
    'objects are JSON; a list is also a,b. -o json prints the response unchanged; only tokens are replaced by [secret]. ' +
    'The daemon sends the operation: with its credentials, its request budget, and for a write its audit log. Without a ' +
    'running daemon, --config FILE sends it from this process. A write asks first.\nExit code: 0 if the service accepted ' +
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
    return runOperation(call, { operation, keys: await keysOf(operation, words, call) });
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
  const names = OPERATIONS.map((operation) => operation.name);
  throw new UsageError(`the service has no operation '${name}'${suggestion(name, names)} \`opsd api\` lists them`);
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
  return { ...keys, body: await bodyText(call, file) };
}
