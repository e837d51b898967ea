/** Programs on a pseudo-terminal, with `script` of util-linux. They end with the test. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

export const CTRL_C = '\u0003';

export interface Terminal {
  /** Exit code of the command, once it has ended. */
  readonly ended: Promise<number | null>;
  /** Returns what the terminal received so far. */
  screen(): string;
  press(keys: string): void;
}

/**
 * Runs a command on a pseudo-terminal. Its exit code becomes `code`. `script` uses a shell, which `exec` must replace: a
 * remaining shell, such as dash, would itself end at the Ctrl-C.
 */
export function onTerminal(
  command: string,
  { cwd = ROOT, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Terminal {
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', `exec ${command}`, '/dev/null'], {
    cwd,
    env: { ...ownEnvironment(), SHELL: '/bin/sh', CI: '', NO_COLOR: '1', TERM: 'xterm', COLUMNS: '120', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  // A key that is pressed after the end is lost.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { ended, screen: () => screen, press: (keys) => void child.stdin.write(keys) };
}

/** Returns the environment without the variables of the npm that runs the tests: its project is not the command's. */
function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/i.test(name)));
}
