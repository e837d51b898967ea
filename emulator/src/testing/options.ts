/** The options of the library: their defaults and checks, and the options of the service that follow from them. */
import { z } from 'zod';
import { HEADER_PREFIX, PRODUCT } from '#foundation/domain/wire-names.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { seededRandom, systemRandom } from '#foundation/platform/random.ts';
import { problemsOf } from '../control/problems.ts';
import { servesPages, type RunOptions as ServiceOptions } from '../emulator-options.ts';
import type { PlanName } from '../state/account.ts';
import { PLAN_LIMITS } from '../state/limits.ts';
import { SEED, type Seed } from '../control/seed-body.ts';
import type { AdvanceOptions, EmulatorOptions, EmulatorSeed, IdleOptions } from '../types/public.ts';

const text = z.string().min(1);
const port = z.int().max(65_535);

/** Times in seconds or microseconds are outside of these years. */
const [FIRST, LAST] = [Date.UTC(2000, 0), Date.UTC(2100, 0)];
const moment = z.union([z.number(), z.date()]).refine((time) => Number(time) >= FIRST && Number(time) < LAST, {
  error: ({ input }) =>
    `must be a date or epoch milliseconds, from 2000 to 2099, not ${Number(input)}; seconds need a factor of 1,000`,
});

const OPTIONS = z.strictObject({
  token: text.default('token'),
  accountId: text.default('7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31'),
  username: text.refine((name) => !name.includes(':'), 'must not contain a colon').default('user'),
  password: z.string().default('password'),
  host: text.default('127.0.0.1'),
  port: port.min(0).default(0),
  time: z.enum(['real', 'virtual', 'skip']).default('real'),
  quietMs: z.number().min(0).default(20),
  startAt: moment.optional(),
  plan: z.enum(Object.keys(PLAN_LIMITS) as PlanName[]).default('paid'),
  enforceLimits: z.boolean().default(true),
  headerPrefix: z.string().regex(HEADER_PREFIX.form, `must be ${HEADER_PREFIX.expected}`).default('Svc'),
  product: z.string().regex(PRODUCT.form, `must be ${PRODUCT.expected}`).default('msgsvc'),
  issuer: text.optional(),
  signatureTime: z.enum(['real', 'virtual']).default('real'),
  signingKeys: z.strictObject({ current: text.exactOptional(), next: text.exactOptional() }).default({}),
  hosts: z.record(text, port.min(1)).default({}),
  failureFunction: z.boolean().default(false),
  refusePrivate: z.boolean().default(false),
  pages: z.boolean().optional(),
  seed: z.int().optional(),
  onError: z.custom<(error: unknown) => void>((value) => typeof value === 'function').default(() => writeError),
});

const PATIENCE = z.strictObject({ patienceMs: z.number().min(0).optional() });

export type Settings = z.output<typeof OPTIONS>;

/** @throws {Error} with every problem and its place */
export function settingsOf(options: EmulatorOptions): Settings {
  return checked(OPTIONS, options, 'options of the emulator', 'the options');
}

/** Returns the parameters of `clock.advance`. */
export function advanceOf(ms: number, options: AdvanceOptions) {
  return { ms: checked(z.number(), ms, 'call of clock.advance', 'ms'), ...patienceOf('clock.advance', options) };
}

/** Returns the parameters of `clock.set`. */
export function setOf(time: number | Date, options: AdvanceOptions) {
  return { to: Number(checked(moment, time, 'call of clock.set', 'time')), ...patienceOf('clock.set', options) };
}

/** Returns the parameters of `idle`. */
export function limitOf(options: IdleOptions): IdleOptions {
  return checked(z.strictObject({ limitMs: z.number().min(0).optional() }), options, 'call of idle', 'the options');
}

/** Returns a valid seed of the one account. */
export function seedOf(seed: EmulatorSeed): Seed {
  return checked(SEED.omit({ account: true }), seed, 'seed', 'the seed') as Seed;
}

function patienceOf(name: string, options: AdvanceOptions): AdvanceOptions {
  return checked(PATIENCE, options, `call of ${name}`, 'the options');
}

function checked<T extends z.ZodType>(type: T, value: unknown, what: string, whole: string): z.output<T> {
  const { success, data, error } = type.safeParse(value);
  if (!success) throw new Error(`invalid ${what}: ${problemsOf(error, whole)}`);
  return data;
}

export function serviceOptions(settings: Settings): ServiceOptions {
  const { token, accountId, username, password, host, port: at, signingKeys, plan, seed, startAt, issuer } = settings;
  return {
    clock: systemClock,
    // Without it, requests are not recorded.
    control: true,
    pages: servesPages(host, settings.pages),
    time: settings.time,
    quietMs: settings.quietMs,
    ...(startAt !== undefined && { startAt: Number(startAt) }),
    random: seed === undefined ? systemRandom : seededRandom(seed),
    listen: { host, port: at },
    accounts: [{ id: accountId, token, plan, signingKeys }],
    management: { username, password },
    headerPrefix: settings.headerPrefix,
    product: settings.product,
    ...(issuer !== undefined && { issuer }),
    hosts: settings.hosts,
    enforceLimits: settings.enforceLimits,
    switches: {
      failureFunction: settings.failureFunction ? 'on' : 'off',
      signatureTime: settings.signatureTime,
      privateDestinations: settings.refusePrivate ? 'refused' : 'allowed',
    },
    onError: settings.onError,
  };
}

function writeError(error: unknown): void {
  process.stderr.write(`emulator: ${error instanceof Error ? error.stack : String(error)}\n`);
}
