import {
  CommandError,
  EXIT,
  textOption,
  UsageError,
  valueOption,
  type CliIo,
  type Command,
  type OptionValues,
} from '../command.ts';
import { HEADER_PREFIX, PRODUCT } from '#foundation/domain/wire-names.ts';
import { aborted } from '#foundation/platform/sleep.ts';
import { servesPages } from '#emulator/emulator-options.ts';
import type { PlanName } from '#emulator/state/account.ts';
import type { SeedFile } from '../seed-file.ts';
import { listenAddress } from './listen-option.ts';
import { usesColor, writeDocument } from '../output.ts';

const DEFAULTS = {
  listen: '127.0.0.1:8080',
  token: 'token',
  management: 'user:password',
  account: '7d8a1f5e-3c42-4b6e-9a10-5f2e8c7b4d31',
  'header-prefix': 'Svc',
  product: 'msgsvc',
  plan: 'paid',
} as const;

/** Other programs pause longer between two requests than a test in this process. */
const QUIET_MS = 100;

type Name = keyof typeof DEFAULTS;

const SPELLINGS: Partial<Record<Name, typeof PRODUCT>> = { 'header-prefix': HEADER_PREFIX, product: PRODUCT };

const option = (name: Name, value: string, help: string) => valueOption(value, `${help}; default: ${DEFAULTS[name]}.`);

const keyOption = (help: string) => valueOption('KEY', `${help}; default: random.`);

export const emulatorCommand: Command = {
  name: 'emulator',
  summary: 'Run the embedded service alone, for tests.',
  options: {
    listen: option('listen', 'ADDRESS', 'Address of both APIs'),
    token: option('token', 'TOKEN', 'Bearer token of the message API'),
    management: option('management', 'USER:PASSWORD', 'Credentials of the management API'),
    account: option('account', 'ID', 'Id of the account'),
    'header-prefix': option('header-prefix', 'PREFIX', 'Prefix of the service’s own headers'),
    product: option('product', 'NAME', 'Name in management paths, fields and plans'),
    'wire-names': valueOption('FILE', 'YAML file with headerPrefix, product and issuer; default: none.'),
    plan: option('plan', 'NAME', 'Plan: free, paid, fixed_1m, fixed_10m, fixed_100m, fixed, enterprise'),
    'no-limits': { type: 'boolean', help: 'Do not enforce the limits of the plan.' },
    data: valueOption('DIR', 'Store the state in this folder and restore it at the next start; default: memory.'),
    'signing-key': keyOption('Key for signing deliveries'),
    'next-signing-key': keyOption('Next key for signing deliveries'),
    'failure-function': {
      type: 'boolean',
      help: 'Call the failure function of a workflow whose run fails permanently.',
    },
    issuer: valueOption('NAME', 'Issuer in the signatures of deliveries; default: the product.'),
    'refuse-private': { type: 'boolean', help: 'Reject destinations on this machine and in private networks.' },
    control: { type: 'boolean', help: 'Serve the control path /-/emulator/, which needs no credentials.' },
    pages: { type: 'boolean', help: 'Serve pages at GET /, which need no credentials; default: on loopback.' },
    'no-pages': { type: 'boolean', help: 'Do not serve pages.' },
    time: valueOption('MODE', 'real, skip (to what is due next) or virtual (needs --control); default: real.'),
    seed: valueOption('FILE', 'State to begin with, such as groups, keys and dead letters; default: none.'),
    openapi: { type: 'boolean', help: 'Print the OpenAPI document of both APIs and exit.' },
  },
  details:
    'Tokens and passwords here are test values. When ready, it prints one JSON line to stdout:\n' +
    '{"url":"http://127.0.0.1:8080","account":"7d8a…","signingKeys":{"current":"…"}}\n' +
    'SIGINT and SIGTERM stop it.\n' +
    'A browser shows messages, DLQs, keys and the clock at this address.\n' +
    'GET /-/openapi.json, without credentials, is the OpenAPI document of both APIs.',
  examples: ['opsd emulator --listen 127.0.0.1:8080 --token secret', 'opsd emulator --openapi > openapi.json'],
  async run({ io, values: given }) {
    const values = await withNames(given, textOption(given, 'wire-names'));
    if (values['openapi'] === true) {
      const { openApiDocument } = await import('#emulator/http/openapi.ts');
      const spelling = { headerPrefix: valueOf(values, 'header-prefix'), product: valueOf(values, 'product') };
      writeDocument(io, openApiDocument(spelling));
      return EXIT.ok;
    }
    const listen = listenAddress(valueOf(values, 'listen'));
    const management = parseManagement(valueOf(values, 'management'));
    const id = valueOf(values, 'account');
    const token = valueOf(values, 'token');
    const headerPrefix = valueOf(values, 'header-prefix');
    const product = valueOf(values, 'product');
    const signingKeys = parseSigningKeys(values);
    const issuer = textOption(values, 'issuer');
    if (issuer === '') throw new UsageError('--issuer must not be empty');
    const plan = await parsePlan(valueOf(values, 'plan'));
    const dataFolder = textOption(values, 'data');
    if (dataFolder === '') throw new UsageError('--data must not be empty');
    const control = values['control'] === true;
    const seedPath = textOption(values, 'seed');
    if (seedPath !== undefined && dataFolder !== undefined)
      throw new UsageError('--seed and --data exclude each other: the folder keeps the state of its first start');
    const seeded = seedPath === undefined ? undefined : await seedFile(seedPath, io);
    const { startAt, ...seed } = seeded?.seed ?? {};
    const time = parseTime(values, control);
    const { runEmulator } = await import('#emulator/emulator.ts');
    const { systemRandom } = await import('#foundation/platform/random.ts');
    const refused = (error: Error): never => {
      throw new CommandError(error.message, { cause: error });
    };
    await using emulator = await runEmulator({
      clock: io.clock,
      random: systemRandom,
      listen,
      accounts: [{ id, token, plan, signingKeys }],
      enforceLimits: values['no-limits'] !== true,
      management,
      headerPrefix,
      product,
      ...(issuer !== undefined && { issuer }),
      switches: {
        ...(values['failure-function'] === true && { failureFunction: 'on' }),
        ...(values['refuse-private'] === true && { privateDestinations: 'refused' }),
      },
      dataFolder,
      control,
      pages: servesPages(listen.host, values['no-pages'] === true ? false : values['pages'] === true || undefined),
      ...((control || seeded !== undefined || time !== 'real') && { time, quietMs: QUIET_MS }),
      ...(startAt !== undefined && { startAt: new Date(startAt).getTime() }),
      onError: (error) => io.stderr.write(`opsd emulator: ${error instanceof Error ? error.stack : String(error)}\n`),
    }).catch(refused);
    if (seeded !== undefined) await emulator.control.seed(seed).catch((error: Error) => refused(seeded.error(error)));
    const ready = { url: emulator.url, account: id, signingKeys: emulator.signingKeys(id) };
    io.stdout.write(`${JSON.stringify(ready)}\n`);
    await aborted(io.signal);
    return EXIT.ok;
  },
};

function valueOf(values: OptionValues, name: Name): string {
  const value = textOption(values, name) ?? DEFAULTS[name];
  if (value === '') throw new UsageError(`--${name} must not be empty`);
  const spelling = SPELLINGS[name];
  if (spelling?.form.test(value) === false) {
    throw new UsageError(`--${name} takes ${spelling.expected}, not '${value}'`);
  }
  return value;
}

/** Loads the reader of the file, which takes 5 MB, when one is given. */
async function withNames(values: OptionValues, file: string | undefined): Promise<OptionValues> {
  return file === undefined ? values : (await import('./wire-names-file.ts')).withWireNames(values, file);
}

async function seedFile(path: string, { stderr, env }: CliIo): Promise<SeedFile> {
  const { readSeedFile } = await import('../seed-file.ts');
  return await readSeedFile(path, usesColor(stderr, env));
}

async function parsePlan(text: string): Promise<PlanName> {
  const { PLAN_LIMITS } = await import('#emulator/state/limits.ts');
  const names = Object.keys(PLAN_LIMITS) as PlanName[];
  const plan = names.find((name) => name === text);
  if (plan === undefined) throw new UsageError(`--plan must be one of ${names.join(', ')}, not ${text}`);
  return plan;
}

function parseTime(values: OptionValues, control: boolean): 'real' | 'virtual' | 'skip' {
  const time = textOption(values, 'time') ?? 'real';
  if (time !== 'real' && time !== 'virtual' && time !== 'skip')
    throw new UsageError('--time must be real, skip or virtual');
  if (time === 'virtual' && !control)
    throw new UsageError('--time virtual requires --control, which advances the time');
  return time;
}

function parseManagement(text: string): { readonly username: string; readonly password: string } {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError('--management must be USER:PASSWORD');
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function parseSigningKeys(values: OptionValues): { readonly current?: string; readonly next?: string } {
  const current = textOption(values, 'signing-key');
  const next = textOption(values, 'next-signing-key');
  if (current === '') throw new UsageError('--signing-key must not be empty');
  if (next === '') throw new UsageError('--next-signing-key must not be empty');
  return { ...(current !== undefined && { current }), ...(next !== undefined && { next }) };
}
