/** Formats a command so that it runs as printed: started as this process was, with the options of the right daemon. */
export type OwnCommand = (text: string) => string;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * @param env `npm_lifecycle_event` and `npm_package_name` are set if npm started this process
 * @param daemon options that select the daemon: `--socket`, `/run/opsd.sock`
 */
export function ownCommand(env: Env, daemon: readonly string[]): OwnCommand {
  const program = ownProgram(env);
  const options = daemon.map((word) => ` ${shellWord(word)}`).join('');
  return (text) => `${program} ${text}${options}`;
}

function ownProgram({ npm_lifecycle_event: script, npm_package_name: project }: Env): string {
  if (script === undefined) return 'opsd';
  const isCheckout = project === 'msgsvc-opsd' && ['opsd', 'start'].includes(script);
  // Started by npx or by a script of another project: perhaps `opsd` is not in PATH. `--no` runs what is installed, and
  // never installs a package of this name from a registry.
  return isCheckout ? 'npm run --silent opsd --' : 'npx --no msgsvc-opsd';
}

/**
 * Rewrites the commands in all texts of a JSON value. Texts from the daemon have commands in backquotes, such as `opsd
 * plan NAME`, because the daemon does not know how its reader starts the program.
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

/** Returns the text quoted as one shell word. A workflow's name must not inject commands that operators copy. */
export function shellWord(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
