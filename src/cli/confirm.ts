/** Confirmation before a write: on a terminal by an answer or a typed name, elsewhere by --yes or --confirm. */
import { CommandError, UsageError, textOption, valueOption, type Call, type OptionSpec } from './command.ts';

export const YES_OPTION: OptionSpec = { type: 'boolean', short: 'y', help: 'Do not ask for confirmation.' };

/** @throws {CommandError} without a confirmation; nothing was done then */
export async function confirm({ io, values }: Call, question: string): Promise<void> {
  // The question also informs: about an approval that remains, for example.
  if (values['yes'] === true) return void io.stderr.write(`${question} yes (--yes)\n`);
  if (io.ask === undefined) {
    throw new CommandError('confirmation needs a terminal; nothing was done. Use --yes to skip the confirmation');
  }
  const answer = (await io.ask(`${question} [y/N] `)).trim().toLowerCase();
  if (answer !== 'y' && answer !== 'yes') throw new CommandError('not confirmed; nothing was done');
}

/** Option of writes that need a typed name. `--yes` does not replace it. */
export const CONFIRM_OPTION: OptionSpec = valueOption('NAME', 'Confirm with this name, for use without a terminal.');

export const REASON_OPTION: OptionSpec = valueOption('TEXT', 'Reason, recorded in the audit log.');

/** @param why question that the reason answers, for the error */
export function neededReason({ values }: Call, why: string): string {
  const reason = textOption(values, 'reason')?.trim() ?? '';
  if (reason === '') throw new UsageError(`--reason is required: ${why}`);
  return reason;
}
