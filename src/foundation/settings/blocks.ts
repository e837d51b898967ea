/**
 * Building blocks of every room's `settings.ts`: keys with their descriptions, and one form for durations, secrets and
 * listen addresses. Each start builds all schemas, so they are those of `zod/mini`, which cost half as much.
 *
 * A message starts in lower case. It says what is expected ("expected …", followed by the value in the file) or what is
 * wrong. After a semicolon it may say what to do.
 */
import * as z from 'zod/mini';
import { parseDuration } from '../domain/duration.ts';
import { parseSize } from '../domain/size.ts';
import { HIGHEST_PORT, LISTEN_FORM, type ListenAddress, splitListen } from './listen-address.ts';

const DURATION = 'expected a duration such as 30s, 5m, 1h30m or 7d';
const SIZE = 'expected a size such as 512KiB, 1MiB or 2GiB';
const INSTANT = 'expected a time such as 2026-03-02T10:00:00Z';
const LISTEN = 'expected an address such as 127.0.0.1:10777';
const BASE_URL = 'expected a URL that starts with http:// or https://';

type Schema = z.core.$ZodType;

/** Key that must be present, unless its schema says otherwise. Other keys may use the schema too. */
export function described<S extends z.ZodMiniType>(what: string, schema: S): S {
  return schema.check(z.describe(what));
}

/** Key that may be absent. */
export function optional<S extends Schema>(what: string, schema: S): z.ZodMiniExactOptional<S> {
  return withMeta(z.exactOptional(schema), { description: what });
}

/** Key with a default, in the form of the file. */
export function defaulted<S extends Schema>(what: string, schema: S, value: z.input<S>): z.ZodMiniPrefault<S> {
  return withMeta(z.prefault(schema, value), { description: what });
}

/** Mapping that may be empty or absent. */
export function settingsBlock<S extends z.ZodMiniObject | z.ZodMiniRecord>(
  what: string,
  schema: S,
): z.ZodMiniPrefault<S> {
  return withMeta(z.prefault(schema, {} as z.input<S>), { description: what });
}

/** Mapping with these keys that may be empty or absent. */
export function group<Keys extends z.core.$ZodLooseShape>(what: string, keys: Keys) {
  return settingsBlock(what, z.strictObject(keys));
}

/** Describes a schema that nothing else uses. */
export function withMeta<S extends Schema>(schema: S, meta: z.core.GlobalMeta): S {
  z.globalRegistry.add(schema, meta);
  return schema;
}

/** Text that is not empty. */
export const someText = z.string().check(z.minLength(1));

/** Text of a form. */
export function matching(form: RegExp, expected: string) {
  return z.string().check(z.regex(form, expected));
}

/** Integer within limits, inclusive. */
export function wholeNumber(min: number, max?: number) {
  return max === undefined ? z.int().check(z.minimum(min)) : z.int().check(z.minimum(min), z.maximum(max));
}

const durationText = z.string(DURATION).check(z.regex(/^(\d+(\.\d+)?(ms|s|m|h|d))+$/, DURATION));
const sizeText = z.string(SIZE).check(z.regex(/^\d+(\.\d+)?(B|KiB|MiB|GiB)$/, SIZE));

/** Duration setting: `30s`, `5m`, `1h30m`, `7d`, parsed to milliseconds. Zero is rejected unless `min` allows it. */
export function durationSetting({ min = '1ms', max }: { readonly min?: string; readonly max?: string } = {}) {
  return within(durationText, parseDuration, min, max);
}

/** Size setting: `512KiB`, `1MiB`, `2GiB`, parsed to bytes. */
export function sizeSetting({ min, max }: { readonly min: string; readonly max: string }) {
  return within(sizeText, parseSize, min, max);
}

/** Text of a form, parsed to a number within limits, inclusive. */
function within(form: typeof sizeText, parse: (text: string) => number | undefined, min: string, max?: string) {
  const least = parse(min)!;
  const most = max === undefined ? Infinity : parse(max)!;
  return z.pipe(
    form,
    z.transform((text, { issues }) => {
      const value = parse(text)!;
      if (value < least) issues.push({ code: 'custom', message: `must be at least ${min}`, input: text });
      if (value > most) issues.push({ code: 'custom', message: `must be at most ${max}`, input: text });
      return value;
    }),
  );
}

/** Time with its zone: `2026-03-02T10:00:00Z`, parsed to epoch milliseconds. */
export function instantSetting() {
  return z.pipe(
    z.iso.datetime({ offset: true, error: INSTANT }),
    z.transform((text) => Date.parse(text)),
  );
}

/** Listen address: `host:port`, or `:port` for all addresses; `[::1]:80` for IPv6. Port 0 lets the system choose. */
export function listenSetting() {
  return z.pipe(
    z.string(LISTEN).check(z.regex(LISTEN_FORM, LISTEN)),
    z.transform((text, { issues }): ListenAddress => {
      const address = splitListen(text);
      const message = `the port must be at most ${HIGHEST_PORT}`;
      if (address.port > HIGHEST_PORT) issues.push({ code: 'custom', message, input: text });
      return address;
    }),
  );
}

/** Message about a text that is not an http or https URL. */
export function noHttpUrl(text: string, expected = BASE_URL): string {
  return /^[a-z][\w+.-]*:[\\/]/i.test(text) ? expected : `${expected}; write http:// or https:// in front of it`;
}

/** Base URL: http or https without user info, query or fragment, so that paths can be appended; or the word `or`. */
export function baseUrlSetting(options: { readonly or?: string } = {}) {
  const expected = options.or === undefined ? BASE_URL : `${BASE_URL}, or ${options.or}`;
  return z.string(expected).check(
    z.superRefine((text, context) => {
      if (text === options.or) return;
      const url = URL.parse(text);
      if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        context.addIssue({ code: 'custom', message: noHttpUrl(text, expected) });
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
    }),
  );
}

/** Secret in the configuration itself. The key may be absent. */
export function secret(what: string, ...checks: z.core.$ZodCheck<string>[]) {
  const description = `${what}. Prefer the file: a value here is visible to every reader of this file.`;
  return withMeta(z.exactOptional(someText.check(...checks)), { description, writeOnly: true });
}

/** Path of a file with a secret. The key may be absent. */
export function secretFile(what: string) {
  return optional(`File that contains ${what}; read again when it changes.`, someText);
}

/** Requires at most one of `name` and `nameFile`, and exactly one if `need` is `needed`. */
export function oneSecret(name: string, need: 'needed' | 'optional' = 'needed') {
  return (value: Record<string, unknown>, context: z.core.$RefinementCtx): void => {
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

/** Keys of the client certificate of requests, with the check `wholeClientPair`. */
export const clientPairSettings = {
  certFile: optional('File with the client certificate of the requests, PEM; read again when it changes.', someText),
  keyFile: secretFile('the key of certFile, PEM'),
};

/** Requires both files of a client certificate or none, and an address with TLS. */
export function wholeClientPair(value: Record<string, unknown>, context: z.core.$RefinementCtx): void {
  const [given, ...more] = ['certFile', 'keyFile'].filter((key) => value[key] !== undefined);
  if (given === undefined) return;
  if (more.length === 0) {
    const missing = given === 'certFile' ? 'keyFile' : 'certFile';
    context.addIssue({ code: 'custom', path: [given], message: `${given} needs ${missing}; add it` });
  }
  const { url } = value;
  if (typeof url === 'string' && !/^https:/i.test(url)) {
    const message = `no effect: a client certificate needs an address with https://; remove ${given}`;
    context.addIssue({ code: 'custom', path: [given], message });
  }
}

/** Check between keys. It runs even if one of the keys is invalid itself. */
export function crossCheck<T>(check: (value: T, context: z.core.$RefinementCtx<T>) => void): z.core.$ZodCheck<T> {
  return z.superRefine(check, { when: ({ value }) => typeof value === 'object' && value !== null });
}

/** Paths whose literals distinguish the members of a union, the first path first. */
export const discriminators = z.registry<{ readonly paths: readonly (readonly string[])[] }>();

/** Returns a union of mappings that reports the errors of the intended member. */
export function toldApart<T extends z.ZodMiniUnion>(paths: readonly (readonly string[])[], union: T): T {
  discriminators.add(union, { paths });
  return union;
}
