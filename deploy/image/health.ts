/** The image's health check: asks the program that the container runs, whichever command it is. */
import { readFileSync } from 'node:fs';

/** The program's file, or its name on the PATH. */
const PROGRAM = /(?:^|\/)opsd(?:\.js)?$/;

/**
 * Returns the health address of a command. Commands that end by themselves have none, and are healthy while they run.
 *
 * @param words the arguments of the container's first process, which may be an init before the program
 */
export function healthUrl(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const [command, ...args] = words.slice(words.findIndex((word) => PROGRAM.test(word)) + 1);
  if (command === 'run' || command === 'demo') return `${reachable(env['OPSD_PROBES_LISTEN'] || ':10779')}/-/healthy`;
  return command === 'emulator' ? `${reachable(listenOf(args) ?? '127.0.0.1:8080')}/health` : undefined;
}

function listenOf(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((word) => word === '--listen' || word.startsWith('--listen='));
  return args[at] === '--listen' ? args[at + 1] : args[at]?.slice('--listen='.length);
}

/** An address that means every interface is reached over loopback. */
function reachable(listen: string): string {
  return `http://${listen.replace(/^(?:0\.0\.0\.0|\[::\])?:(?=\d+$)/, '127.0.0.1:')}`;
}

if (import.meta.main) {
  const url = healthUrl(readFileSync('/proc/1/cmdline', 'utf8').split('\0'), process.env);
  const isHealthy =
    url === undefined ||
    (await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ));
  process.exitCode = isHealthy ? 0 : 1;
}
