/** Check of the proxies that the environment names. */
import { invalidProxies } from '#foundation/platform/proxies.ts';
import type { Fault } from './source-text.ts';

export function checkProxies(env: Readonly<Record<string, string | undefined>>): Fault[] {
  const help = 'write a URL such as http://proxy.example:3128, with a percent-encoded password, or unset the variable';
  return invalidProxies(env).map((name) => {
    return { start: 0, end: 1, path: '', message: `${name}: not the http:// or https:// URL of a proxy`, help };
  });
}
