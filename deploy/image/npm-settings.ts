/**
 * Registry settings of this machine's npm, for npm in the image's build. They are files that are secrets of the build.
 * Their values must not appear in the image.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { mustRun } from './run.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface NpmSettings {
  readonly npmrc: string;
  readonly ca: string;
  /** Texts that must not be in any file of the image. */
  readonly secrets: readonly string[];
  /** Hosts that were configured here. No output of the build must name them. */
  readonly hosts: readonly string[];
}

/** Keys about the source of packages and its credentials. All others are about this machine. */
const ABOUT_REGISTRIES = /^(?:\/\/.+|@[^:]+:registry|registry|(?:https?-)?proxy|no-?proxy|strict-ssl|_auth\w*)$/;
const SECRET = /_auth|_password|token|proxy/i;

export async function npmSettings(folder: string, npm: string, env: Environment): Promise<NpmSettings> {
  const ask = async (key: string): Promise<string> =>
    (await mustRun(process.execPath, [npm, 'config', 'get', key])).trim();
  const texts = [await ask('globalconfig'), await ask('userconfig')]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'));
  const given = [...texts.flatMap((text) => settingsIn(text, env)), ...settingsOf(env)];

  const canary = `canary-${randomUUID()}`;
  const npmrc = join(folder, 'npmrc');
  const lines = [...given.map(([key, value]) => `${key}=${value}`), 'cafile=/run/secrets/npm-ca', `; ${canary}`];
  writeFileSync(npmrc, `${lines.join('\n')}\n`, { mode: 0o600 });

  const ca = join(folder, 'npm-ca');
  const own = [await ask('cafile'), env['NODE_EXTRA_CA_CERTS'] ?? ''].filter((file) => existsSync(file));
  writeFileSync(ca, [...own.map((file) => readFileSync(file, 'utf8')), ...rootCertificates].join('\n'));

  const proxies = Object.entries(env).filter(([name]) => /^https?_proxy$/i.test(name));
  return {
    npmrc,
    ca,
    secrets: [
      canary,
      ...[...given, ...proxies].flatMap(([key, value]) => (SECRET.test(key) && value !== undefined ? [value] : [])),
    ].filter((text) => text.length >= 6),
    hosts: given.flatMap(([key, value]) =>
      key.endsWith('registry') && URL.canParse(value) ? [new URL(value).host] : [],
    ),
  };
}

/** Parses the lines of an .npmrc about registries. npm replaces ${NAME} with values of the environment. */
export function settingsIn(npmrc: string, env: Environment): (readonly [string, string])[] {
  return npmrc.split('\n').flatMap((line) => {
    const [, key, value] = /^\s*([^;#=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined || !ABOUT_REGISTRIES.test(key)) return [];
    const bare = value.replace(/^"(.*)"$/, '$1');
    return [[key, bare.replaceAll(/\$\{(\w+)\??\}/g, (_all, name: string) => env[name] ?? '')] as const];
  });
}

/** npm_config_* of the environment, about registries. */
function settingsOf(env: Environment): (readonly [string, string])[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const key = /^npm_config_(.+)$/i.exec(name)?.[1];
    if (key === undefined || value === undefined || value === '') return [];
    const inFile = key.startsWith('//') ? key : key.toLowerCase().replaceAll(/(?!^)_/g, '-');
    return ABOUT_REGISTRIES.test(inFile) ? [[inFile, value] as const] : [];
  });
}
