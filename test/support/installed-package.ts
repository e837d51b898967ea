/** The package as its users have it: packed from a copy of the checkout, installed from the tarball without a network. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { start, type Program } from './program.ts';

const ROOT = join(import.meta.dirname, '../..');
const NOT_COPIED = new Set(['node_modules', '.git', 'dist', 'coverage', 'data']);

/** Folders with `node` as scripts of a package find it, and with npm. */
const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);

export interface InstalledPackage extends Disposable {
  /** Folder of the user, with `node_modules`. */
  readonly folder: string;
  /** Folder of the package in it. */
  readonly home: string;
  readonly tarball: string;
  /** The copy of the checkout that was packed. */
  readonly copy: string;
  /** Starts the installed command `opsd` in the user's folder. */
  opsd(args: readonly string[], env?: Record<string, string>): Program;
}

/** @throws {Error} with the output of npm if it cannot be packed or installed */
export async function installedPackage(): Promise<InstalledPackage> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'opsd package-')));
  const [copy, packed, folder] = ['copy', 'packed', 'user'].map((name) => join(place, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [packed, folder]) mkdirSync(made);
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await npm(copy, ['pack', '--pack-destination', packed], place);
  const tarball = join(packed, readdirSync(packed)[0]!);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  await npm(folder, ['install', tarball], place);
  return {
    folder,
    home: join(folder, 'node_modules/msgsvc-opsd'),
    tarball,
    copy,
    opsd: (args, env) =>
      start(join(folder, 'node_modules/.bin/opsd'), args, {
        cwd: folder,
        // It has its own place for compiled code.
        env: { NODE_COMPILE_CACHE: '', ...env, PATH, TMPDIR: place },
      }),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true }),
  };
}

/** Runs npm with an empty cache and without a network. */
async function npm(cwd: string, args: readonly string[], place: string): Promise<void> {
  const settings = [
    '--offline',
    `--cache=${join(place, 'cache')}`,
    '--no-audit',
    '--no-fund',
    '--ignore-scripts=false',
  ];
  await promisify(execFile)('npm', [...args, ...settings], { cwd, env: { ...process.env, PATH } });
}
