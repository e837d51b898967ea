/** Client certificates from files that a rotation replaces one after the other. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { clientPair } from '#foundation/platform/client-pair.ts';
import { authority, type Issued } from '../../support/certificates.ts';
import { tempDir } from '../../support/temp-dir.ts';

let pairs: readonly [Issued, Issued];

beforeAll(async () => {
  const ca = await authority();
  pairs = [await ca.issue({ use: 'client' }), await ca.issue({ use: 'client' })];
});

function world() {
  const folder = tempDir();
  const files = { certFile: join(folder, 'client.crt'), keyFile: join(folder, 'client.key') };
  const write = ({ cert, key }: Partial<Issued>): void => {
    if (cert !== undefined) writeFileSync(files.certFile, cert);
    if (key !== undefined) writeFileSync(files.keyFile, key);
  };
  return { ...files, write, read: clientPair(files) };
}

const trimmed = ({ cert, key }: Issued): Issued => ({ cert: cert.trim(), key: key.trim() });

test('a rotated pair is used once both files belong together', () => {
  const { certFile, write, read } = world();
  write(pairs[0]);
  expect(read()).toEqual(trimmed(pairs[0]));
  write({ cert: pairs[1].cert });
  expect(read()).toEqual(trimmed(pairs[0]));
  rmSync(certFile);
  expect(read()).toEqual(trimmed(pairs[0]));
  write(pairs[1]);
  expect(read()).toEqual(trimmed(pairs[1]));
});

test('files that never were a pair are named', () => {
  const { certFile, keyFile, write, read } = world();
  const problem = (): unknown => {
    try {
      return read();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return `${code}: ${message}`;
    }
  };
  const begin = 'ERR_CLIENT_CERTIFICATE: the client certificate cannot be used:';
  expect(problem()).toBe(`${begin} ENOENT: no such file or directory, stat '${certFile}'`);
  write({ cert: pairs[0].cert, key: pairs[1].key });
  expect(problem()).toBe(`${begin} the key in ${keyFile} does not match the certificate in ${certFile}`);
  write({ cert: 'no PEM' });
  expect(problem()).toBe(`${begin} ${certFile} has no certificate in PEM form`);
  write({ cert: pairs[0].cert, key: 'no PEM' });
  expect(problem()).toBe(`${begin} ${keyFile} has no private key in PEM form, or it is encrypted`);
});
