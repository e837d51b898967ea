/** The bill of materials of the image, from the packages of the bundle, Node and dpkg. */
import { expect, test } from 'vitest';
import { debianPackage, imageSbom, type Image } from '../../deploy/image/sbom.ts';

const libstdcpp = debianPackage('Package: libstdc++6\nArchitecture: arm64\nVersion: 12.2.0-14+deb12u1');
const libc = debianPackage(
  'Package: libc6\nStatus: install ok installed\nArchitecture: arm64\nVersion: 2.36-9+deb12u10',
);

const bundled = [
  { name: '@a/yaml', version: '2.9.1', license: 'ISC' },
  { name: 'zod', version: '4.6.7', license: '(MIT OR CC0-1.0)' },
];
const lock = {
  packages: {
    '': {},
    'node_modules/@a/yaml': { version: '2.9.1', integrity: 'sha512-AAH/' },
    'node_modules/zod': { version: '3.0.0', integrity: 'sha512-BBBB' },
    'node_modules/other/node_modules/zod': { version: '4.6.7', integrity: 'sha512-/wAB' },
  },
};

function bill(more: Partial<Image> = {}): object {
  const program = { name: 'msgsvc-opsd', version: '0.1.0', license: 'MIT' };
  return imageSbom({ program, bundled, lock, debian: [libc, libstdcpp], versions: {}, env: {}, ...more });
}

test('names the packages with their hashes, Node with its built-in libraries, and the libraries of Debian', () => {
  const versions = { node: '24.21.0', openssl: '3.5.8', modules: '137', nghttp3: '' };
  expect(bill({ versions, env: { SOURCE_DATE_EPOCH: '1763800000' } })).toEqual({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: '2025-11-22T08:26:40.000Z',
      component: {
        'bom-ref': 'msgsvc-opsd@0.1.0',
        type: 'application',
        name: 'msgsvc-opsd',
        version: '0.1.0',
        purl: 'pkg:npm/msgsvc-opsd@0.1.0',
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: [
      expect.objectContaining({
        name: 'node',
        version: '24.21.0',
        licenses: [{ license: { id: 'MIT' } }],
        components: [
          expect.objectContaining({ name: 'openssl', version: '3.5.8', licenses: [{ license: { id: 'Apache-2.0' } }] }),
        ],
      }),
      expect.objectContaining({
        name: 'libc6',
        version: '2.36-9+deb12u10',
        purl: 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=arm64',
        licenses: [{ license: { id: 'LGPL-2.1-or-later' } }],
      }),
      expect.objectContaining({ purl: 'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=arm64' }),
      {
        'bom-ref': '@a/yaml@2.9.1',
        type: 'library',
        name: '@a/yaml',
        version: '2.9.1',
        purl: 'pkg:npm/%40a/yaml@2.9.1',
        licenses: [{ license: { id: 'ISC' } }],
        hashes: [{ alg: 'SHA-512', content: '0001ff' }],
      },
      expect.objectContaining({
        purl: 'pkg:npm/zod@4.6.7',
        licenses: [{ expression: '(MIT OR CC0-1.0)' }],
        hashes: [{ alg: 'SHA-512', content: 'ff0001' }],
      }),
    ],
    dependencies: [{ ref: 'msgsvc-opsd@0.1.0', dependsOn: ['@a/yaml@2.9.1', 'zod@4.6.7'] }],
  });
});

test('has no time when none is given', () => {
  for (const env of [{}, { SOURCE_DATE_EPOCH: '' }]) expect(JSON.stringify(bill({ env }))).not.toContain('timestamp');
});

test('rejects a library without a known license, and a package without a hash', () => {
  const debian = [debianPackage('Package: libnew1\nArchitecture: arm64\nVersion: 1')];
  expect(() => bill({ debian })).toThrow('libnew1 is not known');
  const other = [{ name: 'zod', version: '4.6.8', license: 'MIT' }];
  expect(() => bill({ bundled: other })).toThrow('package-lock.json has no hash of zod@4.6.8');
});

test('rejects a package that dpkg does not know', () => {
  expect(() => debianPackage('Package: libc6')).toThrow('dpkg knows no Version');
});
