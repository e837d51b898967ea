/** Writes the configuration and the secrets of `opsd init`. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { formatProblems, parseConfig } from '#config/load.ts';
import { CommandError, type CliIo } from '../command.ts';
import { draftText, type Draft, type DraftSecret } from './init-draft.ts';

export interface Written {
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

interface Options {
  readonly env: CliIo['env'];
  readonly isForced: boolean;
}

/** @throws {CommandError} if a file exists, or the configuration is not valid; no new file remains then */
export function writeFiles(file: string, draft: Draft, { env, isForced }: Options): Written {
  const folder = dirname(resolve(file));
  const secrets: { readonly path: string; readonly text: string }[] = [];
  const warnings: string[] = [];

  /** Path of the secret for the configuration. */
  const place = (secret: DraftSecret | undefined, name: string): string => {
    if (secret === undefined) return '';
    if (secret.file === undefined) {
      const path = join(folder, 'secrets', `${draft.account}-${name}`);
      secrets.push({ path, text: secret.text });
      return pathFrom(folder, path);
    }
    if ((statSync(secret.file).mode & 0o077) !== 0) {
      warnings.push(`other users can read ${secret.file}; restrict it with chmod 600 ${secret.file}`);
    }
    return pathFrom(folder, secret.file);
  };

  const { messageApi, managementApi } = draft;
  const paths = { token: place(messageApi?.token, 'token'), password: place(managementApi?.password, 'password') };
  const text = draftText(draft, paths);
  const parsed = parseConfig(text, { file: basename(file), baseDir: folder, env, secrets: false });
  if (!parsed.ok) throw new CommandError(formatProblems(parsed.problems, { color: false }));
  const files = [file, ...secrets.map(({ path }) => path)];
  const existing = files.find((path) => existsSync(path));
  if (existing !== undefined && !isForced) {
    throw new CommandError(`${existing} exists; nothing was changed. Replace it with --force`);
  }
  for (const { path, text: secret } of secrets) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    write(path, `${secret}\n`, 0o600);
  }
  mkdirSync(folder, { recursive: true });
  write(file, text, 0o644);
  return { files, warnings };
}

/** Path as the configuration names it: relative within its folder, else absolute. */
function pathFrom(folder: string, file: string): string {
  const path = relative(folder, resolve(file));
  return path.startsWith('..') ? resolve(file) : `./${path}`;
}

/** Writes a file at once: a reader sees the old contents or the new ones. */
function write(path: string, text: string, mode: number): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode, flag: 'wx' });
  renameSync(draft, path);
}
