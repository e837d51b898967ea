/** Commands that run as they are printed: by npm where npm started this process, and with the daemon that is meant. */
export type OwnCommand = (text: string) => string;

/**
 * @param env `npm_lifecycle_event` names the script of npm that runs
 * @param daemon options that name the daemon: `--socket`, `/run/opsd.sock`
 */
export function ownCommand(env: Readonly<Record<string, string | undefined>>, daemon: readonly string[]): OwnCommand {
  const isByNpm = ['opsd', 'start'].includes(env['npm_lifecycle_event'] ?? '');
  const program = isByNpm ? 'npm run --silent opsd --' : 'opsd';
  const options = daemon.map((word) => ` ${shellWord(word)}`).join('');
  return (text) => `${program} ${text}${options}`;
}

/** As a shell takes it for one word: whoever names a workflow must not write commands that people copy. */
export function shellWord(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
