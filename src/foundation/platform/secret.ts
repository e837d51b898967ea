/** A secret that cannot be printed by accident, and that is read again when its file changes. */
import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';

const HIDDEN = '[secret]';

/** Contents of a secret file that are in use from now on. */
export interface SecretRead {
  /** When the file was last written, epoch milliseconds: its contents are at least as old. */
  readonly writtenAt: number;
  /** Other contents were in use before. */
  readonly isReplaced: boolean;
}

export class Secret {
  readonly #read: () => string;

  private constructor(read: () => string) {
    this.#read = read;
  }

  static of(value: string): Secret {
    return new Secret(() => value);
  }

  /**
   * The trimmed contents of a file. Its identity (inode, size, times) is looked at on every use, so a rotated
   * credential counts from the next request on; mounted Secrets are swapped by a link, which changes the inode.
   *
   * @param onRead told of contents at their first use; not of a file that was written anew with the same ones
   * @throws {Error} naming the path, never the contents, when the file cannot be read or is empty
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
        if (isNew) onRead({ writtenAt: Number(stat.mtimeMs), isReplaced });
      }
      return value;
    });
  }

  /** The secret itself: only ever for a request header, for TLS, or to check who calls. */
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
