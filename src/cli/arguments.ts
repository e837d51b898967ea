/** Command line of one command, parsed strictly: unknown options are rejected with a suggestion. */
import { parseArgs } from 'node:util';
import { suggestion } from '#foundation/domain/suggest.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { UsageError, type Command, type OptionSpec, type OptionValues } from './command.ts';

const HELP: OptionSpec = { type: 'boolean', short: 'h', help: 'Show this help.' };

/** All options of a command, including the common one. */
export function optionsOf(command: Command): Readonly<Record<string, OptionSpec>> {
  return { ...command.options, help: HELP };
}

/** @throws {UsageError} */
export function parseArguments(
  command: Command,
  args: readonly string[],
): { readonly values: OptionValues; readonly positionals: readonly string[] } {
  const config = parserOptions(command);
  refuseUnknown(command, args, config);
  const { values, positionals } = parseStrictly(args, config);
  if (values['help'] === true) return { values, positionals };
  const { usage, min, max } = command.operands ?? { usage: '', min: 0, max: 0 };
  if (positionals.length < min) throw new UsageError(`${command.name} needs ${usage}`);
  if (positionals.length > max) throw new UsageError(`${command.name} does not take '${positionals[max]}'`);
  return { values, positionals };
}

type ParserOptions = ReturnType<typeof parserOptions>;

/** Options for Node's parser. */
export function parserOptions(command: Command) {
  return Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { type, short, multiple = false }]) => [
      name,
      { type, ...(short !== undefined && { short }), multiple },
    ]),
  );
}

/** Rejects unknown options. The parser's own message has no suggestion. */
function refuseUnknown(command: Command, args: readonly string[], options: ParserOptions): void {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue;
    const hint = suggestion(token.name, Object.keys(options), '--');
    throw new UsageError(`${command.name} has no option ${token.rawName}${hint}`);
  }
}

function parseStrictly(
  args: readonly string[],
  options: ParserOptions,
): { readonly values: OptionValues; readonly positionals: readonly string[] } {
  try {
    const parsed = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
    return { values: parsed.values as OptionValues, positionals: parsed.positionals };
  } catch (error) {
    throw new UsageError(firstSentence(errorMessage(error)), { cause: error });
  }
}

function firstSentence(message: string): string {
  return message.split(/\.\s|\n/)[0]!.replace(/\.$/, '');
}
