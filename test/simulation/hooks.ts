/**
 * Replaces the modules through which the product reaches the machine, at load: network, disk, timers, random numbers.
 * The source files themselves stay as they are, but for a mutant, which replaces one text of one file.
 */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks, type LoadFnOutput } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = pathToFileURL(`${join(import.meta.dirname, '../..')}/`).href;

const FAKES: Readonly<Record<string, string>> = {
  'node:http': 'http',
  'node:net': 'net',
  'node:crypto': 'crypto',
  'node:timers': 'timers',
  'node:sqlite': 'sqlite',
  'node:fs/promises': 'fs-promises',
  'node:zlib': 'zlib',
  pg: 'pg',
};
/** Files that are durable without SQLite. */
const AUDIT = `${ROOT}src/storage/audit-file.ts`;
const UNDICI = `${ROOT}src/foundation/platform/undici.ts`;

/** Price of a message, so that a history comes close to its threshold of the budget: 0.2 cents. */
const PRICE = {
  file: `${ROOT}emulator/src/statistics/plan-billing.ts`,
  from: 'MICRO_USD_PER_MESSAGE = 10;',
  to: 'MICRO_USD_PER_MESSAGE = 2_000;',
} as const;

export interface Mutant {
  /** What the change breaks. */
  readonly breaks: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Store of the histories that can find it: SQLite by default. */
  readonly store?: 'sqlite' | 'postgres';
}

function isProduct(url: string | undefined): boolean {
  return url !== undefined && (url.startsWith(`${ROOT}src/`) || url.startsWith(`${ROOT}emulator/src/`));
}

const fake = (name: string): string => `${ROOT}test/simulation/fakes/${name}.ts`;

/** @throws {Error} if the text of the mutant is not exactly once in its file */
export function replaceModules(mutant: Mutant | undefined): void {
  const mutated = mutant && `${ROOT}${mutant.file}`;
  if (mutant !== undefined && readFileSync(fileURLToPath(mutated!), 'utf8').split(mutant.from).length !== 2)
    throw new Error(`${mutant.file} does not contain exactly once: ${mutant.from}`);
  registerHooks({
    resolve(specifier, context, next) {
      const isAudit = context.parentURL === AUDIT && specifier === 'node:fs';
      const name = isAudit ? 'audit-fs' : isProduct(context.parentURL) ? FAKES[specifier] : undefined;
      if (name !== undefined) return { url: fake(name), format: 'module-typescript', shortCircuit: true };
      const resolved = next(specifier, context);
      return resolved.url === UNDICI ? { ...resolved, url: fake('undici') } : resolved;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (url === PRICE.file) return { ...loaded, source: textOf(loaded.source).replace(PRICE.from, PRICE.to) };
      if (url !== mutated) return loaded;
      return { ...loaded, source: textOf(loaded.source).replace(mutant!.from, () => mutant!.to) };
    },
  });
}

function textOf(source: LoadFnOutput['source']): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}

/** Loads what the daemon loads on demand. A module that is loaded during a history would be read from the disk. */
export async function loadAll(): Promise<void> {
  const wanted = new Set<string>();
  for (const file of globSync('{src,emulator/src}/**/*.ts', { cwd: fileURLToPath(ROOT) })) {
    if (file.startsWith('src/cli/') || file === 'src/main.ts' || file.endsWith('.d.ts')) continue;
    const url = `${ROOT}${file}`;
    for (const [, specifier] of readFileSync(fileURLToPath(url), 'utf8').matchAll(/await import\('([^']+)'\)/g)) {
      if (specifier!.startsWith('#')) {
        wanted.add(
          `${ROOT}${specifier!.replace(/^#(emulator\/)?/, (_all, other) => (other ? 'emulator/src/' : 'src/'))}`,
        );
      } else wanted.add(specifier!.startsWith('.') ? new URL(specifier!, url).href : specifier!);
    }
  }
  for (const url of wanted) await import(url);
}
