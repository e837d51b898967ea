/** Makes a command of an operation of the service: its required keys are operands, the others are options. */
import { operationNamed, type Operation, type OperationKey } from '#service/operations.ts';
import {
  textOption,
  UsageError,
  valueOption,
  type Call,
  type Command,
  type NameSource,
  type OptionSpec,
} from '../command.ts';
import { CONFIRM_OPTION, YES_OPTION } from '../confirm.ts';
import { DAEMON_OPTIONS } from '../daemon-option.ts';
import { ACCOUNT_OPTION } from '../list-options.ts';
import { LIST_OUTPUT_OPTION, OUTPUT_OPTION } from '../output.ts';
import { bodyText, runOperation, type AnswerView, type OperationKeys } from './operation-call.ts';

export interface OperationCommand extends Pick<Command, 'name' | 'summary' | 'details' | 'examples'> {
  /** Keys that are operands, in order; default: none. */
  readonly operands?: readonly string[];
  /** Usage of the operands; default: their names in capitals. */
  readonly usage?: string;
  /** Candidates for the first operand. */
  readonly names?: NameSource | readonly string[];
  /** Reads the operands if they are not one for each key. */
  readonly keysOf?: (positionals: readonly string[]) => OperationKeys;
  readonly view?: AnswerView;
}

export function operationCommand(of: string, made: OperationCommand): Command {
  const { name, summary, details, examples, operands = [], names, keysOf, view } = made;
  const operation = operationNamed(of)!;
  const isWrite = operation.method !== 'GET';
  const usage = made.usage ?? operands.map((key) => kebab(key).toUpperCase()).join(' ');
  const optional = Object.entries(operation.keys).filter(([key]) => !operands.includes(key));
  const most = keysOf === undefined ? operands.length : Infinity;
  return {
    name,
    summary,
    ...(details !== undefined && { details }),
    examples,
    ...(operands.length > 0 && {
      operands: { usage, min: operands.length, max: most, ...(names !== undefined && { names }) },
    }),
    options: {
      ...Object.fromEntries(optional.map(([key, spec]) => [kebab(key), optionOf(spec, operation.keys)])),
      account: ACCOUNT_OPTION,
      ...(isWrite && { yes: YES_OPTION }),
      ...(operation.confirm !== undefined && { confirm: CONFIRM_OPTION }),
      ...DAEMON_OPTIONS,
      output: view?.formats.includes('wide') === true ? LIST_OUTPUT_OPTION : OUTPUT_OPTION,
    },
    async run(call) {
      const given =
        keysOf?.(call.positionals) ?? Object.fromEntries(operands.map((key, n) => [key, call.positionals[n]]));
      const keys = { ...given, ...(await optionKeys(call, optional)) };
      return runOperation(call, { operation, keys, ...(view !== undefined && { view }) });
    },
  };
}

/** `retryDelay`, `plan_name` → `retry-delay`, `plan-name`. */
function kebab(key: string): string {
  return key.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function optionOf({ in: place, kind, values, help }: OperationKey, keys: Operation['keys']): OptionSpec {
  if (place === 'raw') return valueOption('FILE', 'Body of the message: a file, or - for stdin.');
  const text = helpOf(help, Object.keys(keys));
  if (kind === 'boolean') return { type: 'boolean', help: text };
  const value = values?.join('|') ?? VALUES[kind] ?? 'TEXT';
  return { type: 'string', value, help: text, ...(kind === 'texts' && { multiple: true as const }) };
}

/** Help of a key as a sentence, with the options in place of the keys. Single headers are keys of `opsd api` only. */
function helpOf(help: string, keys: readonly string[]): string {
  const text = help
    .replace(/; or one as .*$/, '')
    .replace(/\b[a-z]+[A-Z]\w*/g, (key) => (keys.includes(key) ? `--${kebab(key)}` : key));
  return `${text.replace(/^[a-z]+(?=[ ;.]|$)/, (word) => word[0]!.toUpperCase() + word.slice(1))}.`;
}

const VALUES: Readonly<Record<string, string>> = {
  amount: 'N',
  count: 'N',
  duration: '1h30m',
  headers: 'JSON',
  seconds: 'TIME',
  url: 'URL',
};

async function optionKeys(
  call: Call,
  optional: readonly (readonly [string, OperationKey])[],
): Promise<Readonly<Record<string, unknown>>> {
  const keys: Record<string, unknown> = {};
  for (const [key, { in: place }] of optional) {
    const value = call.values[kebab(key)];
    if (value === undefined) continue;
    const text = textOption(call.values, kebab(key));
    if (text?.trim() === '') throw new UsageError(`--${kebab(key)} must not be empty`);
    if (place === 'raw') keys[key] = await bodyText(call, text!);
    else keys[key] = typeof value === 'boolean' ? String(value) : value;
  }
  return keys;
}
