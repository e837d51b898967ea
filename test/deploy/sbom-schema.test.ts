/** Checks the bill of materials against the official schema of CycloneDX, with this package's real dependencies. */
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { debianPackage, imageSbom, type BundledPackage, type LockFile } from '../../deploy/image/sbom.ts';
import { thirdPartiesOf } from '../../deploy/package/third-party.ts';

const ROOT = join(import.meta.dirname, '../..');
const SCHEMAS = join(ROOT, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');

interface Bom {
  readonly components: readonly {
    readonly name: string;
    readonly licenses?: readonly object[];
    readonly components?: Bom['components'];
  }[];
}

function schema(name: string): object {
  return JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8')) as object;
}

function validator() {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // URLs in the bill are plain ASCII.
  ajv.addFormat('iri-reference', /^(?:[a-z][a-z\d+.-]*:|[^:/?#\s]*(?:[/?#]|$))[\x21-\x7E]*$/i);
  ajv.addFormat('idn-email', /^\S+@\S+$/);
  for (const name of ['spdx', 'jsf-0.82']) {
    const { $id: _own, ...rest } = schema(name) as { $id?: string };
    ajv.addSchema(rest, `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  return ajv.compile(schema('bom-1.5'));
}

const json = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

function billOf(env: Readonly<Record<string, string>>): Bom {
  const program = json('package.json') as BundledPackage & { readonly dependencies: Readonly<Record<string, string>> };
  const debian = ['libc6', 'libstdc++6', 'libgcc-s1'].map((name) =>
    debianPackage(`Package: ${name}\nArchitecture: amd64\nVersion: 12.2.0-14+deb12u1`),
  );
  return imageSbom({
    program,
    bundled: thirdPartiesOf(
      Object.keys(program.dependencies).map((name) => join(ROOT, 'node_modules', name, 'index.js')),
    ),
    lock: json('package-lock.json') as LockFile,
    debian,
    versions: process.versions,
    env,
  }) as Bom;
}

test('is valid against the schema, and each part has a license', () => {
  const bill = billOf({ SOURCE_DATE_EPOCH: '1763800000' });
  const isValid = validator();
  isValid(bill);
  expect(isValid.errors ?? []).toEqual([]);
  expect(bill.components.length).toBeGreaterThan(10);
  const parts = bill.components.flatMap((part) => [part, ...(part.components ?? [])]);
  expect(parts.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name)).toEqual([]);
});

test('the schema rejects a bill with a git repository form, or with an invalid license', () => {
  const { components, ...bill } = billOf({});
  const wrong = (change: object): unknown => {
    const isValid = validator();
    isValid({ ...bill, components: [...components, { type: 'library', name: 'x', ...change }] });
    return isValid.errors;
  };
  expect(wrong({})).toBeNull();
  expect(wrong({ externalReferences: [{ type: 'vcs', url: 'git@forge.example:x/x.git' }] })).not.toBeNull();
  expect(wrong({ licenses: [{ license: { id: 'Whatever' } }] })).not.toBeNull();
});
