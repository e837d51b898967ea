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

/**
 * Rewrites the commands in all texts of a JSON value. A text from the daemon has its commands in backquotes, such as
 * `opsd plan NAME`: the daemon does not know how its reader starts the program.
 */
export function withOwnCommands<T>(value: T, command: OwnCommand): T {
  const rewrite = (part: unknown): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(/`opsd ([^`\n]+)`/g, (_quoted, words: string) => `\`${command(words)}\``);
    }
    if (Array.isArray(part)) return part.map(rewrite);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, one]) => [key, rewrite(one)]));
  };
  return rewrite(value) as T;
}

/** As a shell takes it for one word: whoever names a workflow must not write commands that people copy. */
export function shellWord(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
