/** Certificates and keys in a web configuration file, and their faults. */
import { dirname, resolve } from 'node:path';
import { readText, unreadable } from './read-file.ts';
import type { Fault } from './source-text.ts';
import { type Place, placeAt } from './yaml-place.ts';

const SECTION = 'tls_server_config';

/** PEM text, with its key, or the key that names its file. */
export interface Pem {
  readonly text: string;
  readonly key: string;
  /** File that has the text. */
  readonly file: string;
}

export class WebMaterial {
  readonly faults: Fault[] = [];
  /** Contents of the files that were read. */
  readonly texts: string[] = [];
  readonly #root: Place;
  readonly #path: string;

  /** @param path path of the web configuration file */
  constructor(root: Place, path: string) {
    this.#root = root;
    this.#path = path;
  }

  /** Reads the text of a key, or of the file in `key_file`. @returns undefined if both are absent, or it is invalid */
  read(key: 'cert' | 'key' | 'client_ca', given: { readonly text: string; readonly file: string }): Pem | undefined {
    const { text, file } = given;
    const fileKey = `${key}_file`;
    if (text !== '' && file !== '') {
      this.fault(key, `${key} and ${fileKey} exclude each other`, `remove ${key}`);
      return undefined;
    }
    if (file === '') return text === '' ? undefined : { text, key, file: this.#path };
    try {
      const path = resolve(dirname(this.#path), file);
      const read = readText(path);
      this.texts.push(read);
      return { text: read, key: fileKey, file: path };
    } catch (error) {
      const where = file.startsWith('/') ? undefined : 'the path is relative to the folder of this file';
      this.fault(fileKey, unreadable(error), where);
      return undefined;
    }
  }

  /** @param key key of the section, or an empty text for the section itself */
  fault(key: string, message: string, help?: string, severity?: 'warning'): void {
    const section = placeAt(this.#root, [SECTION]);
    const place = (key === '' ? undefined : section?.entries?.get(key)) ?? section;
    // A text of several lines is marked at its key.
    const isWhole = place === section || !place?.scalar || place.scalar.type?.startsWith('BLOCK') === true;
    const at = (isWhole ? place?.key : place) ?? { start: 0, end: 1 };
    const path = key === '' ? SECTION : `${SECTION}.${key}`;
    this.faults.push({ start: at.start, end: at.end, path, message, help, severity });
  }
}

/** Files that it names, in reading order. */
export function filesOfWebConfig(root: Place | undefined): readonly string[] {
  return ['cert', 'key', 'client_ca'].flatMap((key) => {
    const written = root && placeAt(root, [SECTION, `${key}_file`])?.value;
    return typeof written === 'string' && written !== '' ? [written] : [];
  });
}
