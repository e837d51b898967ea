/** Confirmation with a typed name. */
import { expect, test } from 'vitest';
import type { Command } from '#operate/cli/command.ts';
import { CONFIRM_OPTION, confirmName, YES_OPTION } from '#operate/cli/confirm.ts';
import { runCommand, terminal } from './terminal.ts';

const NAME = 'my account';

const command: Command = {
  name: 'x',
  summary: '',
  options: { confirm: CONFIRM_OPTION, yes: YES_OPTION },
  examples: ['', ''],
  run: async (call) => (call.io.stdout.write(await confirmName(call, NAME)), 0),
};

/** Returns the confirmed name. @param answers absent without a terminal */
async function confirmed(args: readonly string[], answers?: readonly string[]): Promise<string> {
  const world = terminal(answers && { answers });
  await runCommand(command, args, world);
  return world.stdout;
}

test.each([
  ['typed on the terminal', [], [` ${NAME} `]],
  ['as an option without a terminal', ['--confirm', NAME], undefined],
  ['as an option on a terminal', ['--confirm', NAME], []],
])('the right name confirms: %s', async (_how, args, answers) => {
  expect(await confirmed(args, answers)).toBe(NAME);
});

test.each([
  ['typed on the terminal', [], ['My account']],
  ['an empty line', [], ['']],
  ['an option', ['--confirm', 'x'], undefined],
  ['an option on a terminal', ['--confirm', 'x'], [NAME]],
])('another name does nothing: %s', async (_how, args, answers) => {
  await expect(confirmed(args, answers)).rejects.toThrow(/must be my account, not '.*'; nothing was done/);
});

test('without a terminal the error names the option; --yes does not replace the name', async () => {
  const said = "nothing was done. Confirm with --confirm 'my account'";
  await expect(confirmed([])).rejects.toThrow(said);
  await expect(confirmed(['--yes'])).rejects.toThrow(said);
});
