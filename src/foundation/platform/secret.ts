/** Secret that cannot be printed by accident and is read again when its file changes. */
import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';
import { rememberSecret } from '../domain/known-secrets.ts';

const HIDDEN = '[secret]';

/** Contents of a secret file that came into use. */
export interface SecretRead {
  /** Epoch milliseconds of the last write to the file, the minimum age of its contents. */
  readonly writtenAt: number;
  /** True if other contents were in use before. */
  readonly isReplaced: boolean;
}

/** Its text is masked wherever it leaves the process, from its creation or its first reading on. */
export class Secret {
  readonly #read: () => string;

  private constructor(read: () => string) {
    this.#read = read;
  }

  static of(value: string): Secret {
    rememberSecret(value);
    return new Secret(() => value);
  }

  /**
   * Creates a secret from the trimmed contents of a file. The file's identity (inode, size, times) is checked on every
   * use, so a rotated credential applies from the next request on. Mounted Secrets are replaced by a link, which
   * changes the inode.
   *
   * @param onRead called at the first use of contents, not if a file was rewritten with the same contents
   * @throws {Error} with the path, never the contents, if the file cannot be read or is empty
   */
  static fromFile(path: string, onRead: (read: SecretRead) => void = () => undefined): Secret {
    let identity = '';
    let value = '';
    return new Secret(() => {
      const stat = statSync(path, { bigint: true });
      const seen = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
      if (seen !== identity) {
        const text = readFileSync(path, 'utf8').trim();
        if (text === '') throw new Error(`secret file ${path} is empty`);
        const isReplaced = identity !== '';
        const isNew = text !== value;
        identity = seen;
        value = text;
        rememberSecret(text);
        if (isNew) onRead({ writtenAt: Number(stat.mtimeMs), isReplaced });
      }
      return value;
    });
  }

  /** Returns the secret itself, only for a request header, for TLS, or to authenticate a caller. */
  reveal(): string {
    return this.#read();
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}
