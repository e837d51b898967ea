/** Checks the keys of kept bodies of dead letters. */
import { readFileSync } from 'node:fs';
import type { Config } from '#config/config.ts';
import { sealKeysOf } from '#foundation/platform/seal.ts';
import { finding, ok, type Check, type CheckResult } from './doctor-check.ts';

export function checkBodyKeys({ accounts }: Config): readonly Check[] {
  return accounts.flatMap(({ name, deadLetters: { bodies } }) =>
    bodies === undefined ? [] : [{ check: 'bodies', subject: name, ...checkFile(bodies.keyFile) }],
  );
}

/** A file that cannot be used is a problem of the configuration. */
function checkFile(file: string | undefined): CheckResult {
  if (file === undefined) {
    const fix = 'set keyFile to a file with the output of: openssl rand -hex 32';
    return finding('bodies and headers of messages are stored in clear', fix);
  }
  const [first, ...older] = sealKeysOf(readFileSync(file, 'utf8')).map(({ id }) => id);
  return ok([`sealed with key ${first}`, ...older.map((id) => `also opens ${id}`)].join(', '));
}
