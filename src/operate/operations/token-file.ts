/**
 * File of a rotated token. It is replaced as a whole, and only its owner can read it. Space for the new token is reserved
 * before the rotation; the old token is kept until the new one works.
 */
import * as nodeFiles from 'node:fs';
import { dirname } from 'node:path';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { OperationError } from './operation-error.ts';

/** Functions of the file system that are used here. */
export type FileSystem = Pick<
  typeof nodeFiles,
  | 'closeSync'
  | 'existsSync'
  | 'fsyncSync'
  | 'ftruncateSync'
  | 'openSync'
  | 'readFileSync'
  | 'realpathSync'
  | 'renameSync'
  | 'unlinkSync'
  | 'writeSync'
>;

/** Bytes that are reserved for a token, so that a full disk is found before the rotation. */
const RESERVED = 8_192;

export interface ReservedToken {
  readonly file: string;
  /** Name of the new token until the file is replaced. */
  readonly unsaved: string;
  /** Makes the text durable under the name `unsaved`, and nothing else. */
  write(text: string): void;
  /**
   * Replaces the file by the written text, and keeps the old token in `FILE.previous`.
   *
   * @returns false if the old token could not be kept
   */
  replace(): boolean;
  /** Removes the old token. */
  forget(): void;
  /** Removes the reservation, if nothing was written. */
  [Symbol.dispose](): void;
}

export interface TokenFiles {
  /** @throws {OperationError} if the folder is not writable, or a token of an interrupted rotation exists */
  reserve(path: string): ReservedToken;
}

export function createTokenFiles(files: FileSystem = nodeFiles): TokenFiles {
  const reserved = new Set<string>();
  return {
    reserve(path) {
      const file = files.existsSync(path) ? files.realpathSync(path) : path;
      if (reserved.has(file)) throw new OperationError('refused', `a rotation of the token in ${file} is in progress`);
      const token = reserveSpace(file, files);
      reserved.add(file);
      return {
        ...token,
        [Symbol.dispose]() {
          reserved.delete(file);
          token[Symbol.dispose]();
        },
      };
    },
  };
}

function reserveSpace(file: string, files: FileSystem): ReservedToken {
  const [unsaved, previous] = [`${file}.new`, `${file}.previous`];
  let fd: number | undefined = openNew(file, unsaved, files);
  let isEmpty = true;
  const close = (): void => {
    if (fd !== undefined) files.closeSync(fd);
    fd = undefined;
  };
  return {
    file,
    unsaved,
    write(text) {
      isEmpty = false;
      files.writeSync(fd!, `${text}\n`, 0);
      files.ftruncateSync(fd!, Buffer.byteLength(text) + 1);
      files.fsyncSync(fd!);
      close();
    },
    replace() {
      const isKept = keep(file, previous, files);
      files.renameSync(unsaved, file);
      syncFolder(file, files);
      return isKept;
    },
    forget() {
      if (!files.existsSync(previous)) return;
      files.unlinkSync(previous);
      syncFolder(file, files);
    },
    [Symbol.dispose]() {
      close();
      if (isEmpty) files.unlinkSync(unsaved);
    },
  };
}

/** Creates the file with the reserved space. Its name is durable before the rotation is sent. */
function openNew(file: string, unsaved: string, files: FileSystem): number {
  if (files.existsSync(unsaved)) {
    if (files.readFileSync(unsaved, 'utf8').trim() !== '') {
      throw new OperationError(
        'refused',
        `${unsaved} has the token of an interrupted rotation. Move it to ${file} if it is valid, else delete it; then try again`,
      );
    }
    files.unlinkSync(unsaved);
  }
  let fd: number;
  try {
    fd = files.openSync(unsaved, 'wx', 0o600);
  } catch (error) {
    throw new OperationError('refused', `${notWritable(file)}: ${errorMessage(error)}`);
  }
  try {
    files.writeSync(fd, '\n'.repeat(RESERVED));
    files.fsyncSync(fd);
    syncFolder(file, files);
    return fd;
  } catch (error) {
    files.closeSync(fd);
    files.unlinkSync(unsaved);
    throw new OperationError('refused', `${notWritable(file)}: ${errorMessage(error)}`);
  }
}

function notWritable(file: string): string {
  return `the new token could not be stored in ${dirname(file)}, so the token was not rotated`;
}

/** Copies the old token. The new one matters more: a failure does not stop the replacement. */
function keep(file: string, previous: string, files: FileSystem): boolean {
  try {
    if (!files.existsSync(file)) return true;
    const old = files.readFileSync(file);
    // A new file: an existing one may be readable by others.
    if (files.existsSync(previous)) files.unlinkSync(previous);
    const fd = files.openSync(previous, 'wx', 0o600);
    try {
      files.writeSync(fd, old);
      files.fsyncSync(fd);
    } finally {
      files.closeSync(fd);
    }
    return true;
  } catch {
    return false;
  }
}

function syncFolder(path: string, files: FileSystem): void {
  const folder = files.openSync(dirname(path), 'r');
  try {
    files.fsyncSync(folder);
  } finally {
    files.closeSync(folder);
  }
}
