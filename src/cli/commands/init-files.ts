/** Writes the configuration and the secrets of `opsd init`. */
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { formatProblems, parseConfig } from '#config/load.ts';
import { CommandError, type CliIo } from '../command.ts';
import { writeAtOnce } from '../write-file.ts';
import { draftText, textWith, type Draft, type DraftSecret } from './init-draft.ts';

export interface Written {
  readonly files: readonly string[];
  readonly warnings: readonly string[];
}

interface Options {
  readonly env: CliIo['env'];
  readonly isForced: boolean;
  /** Text of the configuration to which the account is added. */
  readonly existing?: string;
}

/**
 * Text of an existing configuration, if it is valid and has no account of this name.
 *
 * @throws {CommandError}
 */
export function existingText(file: string, account: string, env: CliIo['env']): string {
  const text = readFileSync(file, 'utf8');
  const parsed = parseConfig(text, { file, baseDir: dirname(resolve(file)), env, secrets: false });
  if (!parsed.ok) {
    const problems = formatProblems(parsed.problems, { color: false });
    throw new CommandError(`${file} exists and is invalid, so no account can be added to it:\n${problems}`);
  }
  if (parsed.config.accounts.every(({ name }) => name !== account)) return text;
  throw new CommandError(`${file} has an account ${account} already; name the new one with --account NAME`);
}

/** @throws {CommandError} if a file exists, or the configuration is not valid; no new file remains then */
export function writeFiles(file: string, draft: Draft, { env, isForced, existing }: Options): Written {
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
  const text = existing === undefined ? draftText(draft, paths) : textWith(existing, draft, paths);
  const parsed = parseConfig(text, { file: basename(file), baseDir: folder, env, secrets: false });
  if (!parsed.ok) throw new CommandError(formatProblems(parsed.problems, { color: false }));
  const files = [file, ...secrets.map(({ path }) => path)];
  const present = files.find((path) => existsSync(path) && (path !== file || existing === undefined));
  if (present !== undefined && !isForced) {
    throw new CommandError(`${present} exists; nothing was changed. Replace it with --force`);
  }
  if (existing !== undefined && readFileSync(file, 'utf8') !== existing) {
    throw new CommandError(`${file} was changed in the meantime; nothing was changed. Try again`);
  }
  for (const { path, text: secret } of secrets) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeAtOnce(path, `${secret}\n`, 0o600);
  }
  mkdirSync(folder, { recursive: true });
  if (existing === undefined) writeAtOnce(file, text, 0o644);
  else writeAtOnce(realpathSync(file), text, 0o600, statSync(file));
  return { files, warnings };
}

/** Path as the configuration names it: relative within its folder, else absolute. */
function pathFrom(folder: string, file: string): string {
  const path = relative(folder, resolve(file));
  return path.startsWith('..') ? resolve(file) : `./${path}`;
}
