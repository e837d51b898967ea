/** Checks the keys of kept bodies of dead letters. */
import { readFileSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { bodyKeysOf } from '#storage/body-seal.ts';
import { finding, ok, type Check, type CheckResult } from './doctor-check.ts';

export function checkBodyKeys({ accounts }: Config): readonly Check[] {
  return accounts.flatMap(({ name, deadLetters: { bodies } }) =>
    bodies === undefined ? [] : [{ check: 'bodies', subject: name, ...checkFile(bodies.keyFile) }],
  );
}

function checkFile(file: string | undefined): CheckResult {
  const create = 'openssl rand -hex 32';
  if (file === undefined) {
    return finding('bodies and headers of messages are stored in clear', `set keyFile to a file with a key: ${create}`);
  }
  try {
    const [first, ...older] = bodyKeysOf(readFileSync(file, 'utf8'));
    if (first === undefined) return finding(`${file} is empty`, `write a key into it: ${create}`);
    return ok([`sealed with key ${first.id}`, ...older.map(({ id }) => `also opens ${id}`)].join(', '));
  } catch (error) {
    return finding(
      `${file}: ${errorMessage(error)}`,
      `repair the file; until then no body is kept. New key: ${create}`,
    );
  }
}
