/** A person says yes before anything is written: on a terminal when asked, elsewhere with --yes. */
import { CommandError, UsageError, textOption, type Call, type OptionSpec } from './command.ts';

export const YES_OPTION: OptionSpec = { type: 'boolean', short: 'y', help: 'Do it without asking.' };

/** @throws {CommandError} when nobody said yes; nothing has been done then */
export async function confirm({ io, values }: Call, question: string): Promise<void> {
  if (values['yes'] === true) return;
  if (io.ask === undefined) {
    throw new CommandError(
      'there is no terminal to ask on, and nothing was done; with --yes it is done without asking',
    );
  }
  const answer = (await io.ask(`${question} [y/N] `)).trim().toLowerCase();
  if (answer !== 'y' && answer !== 'yes') throw new CommandError('nothing was done');
}

export const REASON_OPTION: OptionSpec = { type: 'string', value: 'TEXT', help: 'Why; kept in the audit log.' };

/** @param why what the reason answers, for the error */
export function neededReason({ values }: Call, why: string): string {
  const reason = textOption(values, 'reason')?.trim() ?? '';
  if (reason === '') throw new UsageError(`--reason is needed: ${why}`);
  return reason;
}
