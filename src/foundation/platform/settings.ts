/**
 * Building blocks of every room's `settings.ts`: one form for durations, secrets and listen addresses.
 *
 * A message starts in lower case. It says what is expected ("expected …", followed by the value in the file) or what is
 * wrong. After a semicolon it may say what to do.
 */
import { z } from 'zod';
import { parseDuration } from '../domain/duration.ts';

const DURATION = 'expected a duration such as 30s, 5m, 1h30m or 7d';
const LISTEN = 'expected an address such as 127.0.0.1:10777';
const BASE_URL = 'expected a URL that starts with http:// or https://';

/** Duration setting: `30s`, `5m`, `1h30m`, `7d`, parsed to milliseconds. Zero is rejected unless `min` allows it. */
export function durationSetting(options: { readonly min?: string; readonly max?: string } = {}) {
  const min = parseDuration(options.min ?? '1ms')!;
  const max = options.max === undefined ? Infinity : parseDuration(options.max)!;
  return z
    .string(DURATION)
    .regex(/^(\d+(\.\d+)?(ms|s|m|h|d))+$/, DURATION)
    .transform((text, context) => {
      const ms = parseDuration(text)!;
      if (ms < min) context.addIssue({ code: 'custom', message: `must be at least ${options.min ?? '1ms'}` });
      if (ms > max) context.addIssue({ code: 'custom', message: `must be at most ${options.max}` });
      return ms;
    });
}

/** Listen address: `host:port`, or `:port` for all addresses; `[::1]:80` for IPv6. Port 0 lets the system choose. */
export function listenSetting() {
  return z
    .string(LISTEN)
    .regex(/^(\[[0-9a-fA-F:.]+\]|[^:[\]\s/]*):\d{1,}$/, LISTEN)
    .transform((text, context): ListenAddress => {
      const colon = text.lastIndexOf(':');
      const port = Number(text.slice(colon + 1));
      if (port > 65_535) context.addIssue({ code: 'custom', message: 'the port must be at most 65535' });
      const host = text.slice(0, colon).replace(/^\[|\]$/g, '');
      return { host: host === '' ? '::' : host, port };
    });
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Base URL: http or https without user info, query or fragment, so that paths can be appended; or the word `or`. */
export function baseUrlSetting(options: { readonly or?: string } = {}) {
  const expected = options.or === undefined ? BASE_URL : `${BASE_URL}, or ${options.or}`;
  return z.string(expected).superRefine((text, context) => {
    if (text === options.or) return;
    const url = URL.parse(text);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      context.addIssue({ code: 'custom', message: expected });
    } else if (url.username !== '' || url.password !== '') {
      context.addIssue({
        code: 'custom',
        message: 'credentials in a URL; remove the part up to the @ and use the keys for credentials',
      });
    } else if (url.search !== '' || url.hash !== '') {
      context.addIssue({
        code: 'custom',
        message: 'a query or fragment in a base URL; remove the part from the ? or # on',
      });
    }
  });
}

/** Secret in the configuration itself. */
export const secret = (what: string) =>
  z
    .string()
    .min(1)
    .describe(`${what}. Prefer the file: a value here is visible to every reader of this file.`)
    .meta({ writeOnly: true });

/** Path of a file with a secret. */
export const secretFile = (what: string) =>
  z.string().min(1).describe(`File that contains ${what}; read again when it changes.`);

/** Requires at most one of `name` and `nameFile`, and exactly one if `need` is `needed`. */
export function oneSecret(name: string, need: 'needed' | 'optional' = 'needed') {
  return (value: Record<string, unknown>, context: z.RefinementCtx): void => {
    const file = `${name}File`;
    const given = [name, file].filter((key) => value[key] !== undefined);
    if (given.length === 2) {
      context.addIssue({
        code: 'custom',
        path: [name],
        message: `${name} and ${file} are mutually exclusive; keep ${file}`,
      });
    } else if (given.length === 0 && need === 'needed') {
      context.addIssue({
        code: 'custom',
        message: `no ${name}; set ${file} to the path of a file that contains it, or set ${name}`,
        params: { missing: [name, file] },
      });
    }
  };
}

/** Option for `superRefine`: checks between keys run even if one of the keys is invalid itself. */
export const always: z.core.$ZodSuperRefineParams = {
  when: (payload) => typeof payload.value === 'object' && payload.value !== null,
};

/** Paths whose literals distinguish the members of a union, the first path first. */
export const discriminators = z.registry<{ readonly paths: readonly (readonly string[])[] }>();

/** Returns a union of mappings that reports the errors of the intended member. */
export function toldApart<T extends z.ZodUnion>(paths: readonly (readonly string[])[], union: T): T {
  discriminators.add(union, { paths });
  return union;
}
