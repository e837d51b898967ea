/** The bill of materials of the image, from the output of npm, Node and dpkg. */
import { expect, test } from 'vitest';
import { debianPackage, imageSbom } from '../../deploy/image/sbom.ts';

const npm = JSON.stringify({
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  serialNumber: 'urn:uuid:04294958-d180-4139-b131-bdc799bf27d3',
  metadata: { timestamp: '2026-11-22T01:58:49.125Z', component: { name: 'build', version: '0.1.0' } },
  components: [
    {
      type: 'library',
      name: 'yaml',
      version: '2.9.1',
      licenses: [{ license: { id: 'ISC' } }],
      externalReferences: [
        { type: 'distribution', url: 'https://registry.internal.example/yaml.tgz' },
        { type: 'website', url: 'https://yaml.example/' },
      ],
    },
    {
      type: 'library',
      name: 'zod',
      version: '4.6.7',
      licenses: [{ license: { id: 'MIT' } }],
      externalReferences: [
        { type: 'distribution', url: 'https://registry.internal.example/zod.tgz' },
        { type: 'vcs', url: 'git@forge.example:zod/zod.git' },
        { type: 'other', url: 'no place' },
      ],
    },
  ],
});

const libstdcpp = debianPackage('Package: libstdc++6\nArchitecture: arm64\nVersion: 12.2.0-14+deb12u1');
const libc = debianPackage(
  'Package: libc6\nStatus: install ok installed\nArchitecture: arm64\nVersion: 2.36-9+deb12u10',
);

test('names packages, Node with what is built into it, and the libraries', () => {
  const versions = { node: '24.21.0', openssl: '3.5.8', modules: '137', nghttp3: '' };
  expect(imageSbom(npm, { packages: [libc, libstdcpp], versions, env: { SOURCE_DATE_EPOCH: '1763800000' } })).toEqual({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: { timestamp: '2025-11-22T08:26:40.000Z', component: { name: 'msgsvc-opsd', version: '0.1.0' } },
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
        type: 'library',
        name: 'yaml',
        version: '2.9.1',
        licenses: [{ license: { id: 'ISC' } }],
        externalReferences: [{ type: 'website', url: 'https://yaml.example/' }],
      },
      {
        type: 'library',
        name: 'zod',
        version: '4.6.7',
        licenses: [{ license: { id: 'MIT' } }],
        externalReferences: [{ type: 'vcs', url: 'https://forge.example/zod/zod.git' }],
      },
    ],
  });
});

test('is equal for equal builds, and has no time when none is given', () => {
  const other = npm.replace('04294958', 'ffffffff').replace('01:58', '02:58');
  for (const env of [{}, { SOURCE_DATE_EPOCH: '' }]) {
    const [one, two] = [npm, other].map((text) => JSON.stringify(imageSbom(text, { packages: [], versions: {}, env })));
    expect(one).toBe(two);
    expect(one).not.toContain('timestamp');
  }
});

test('rejects a part without a known license', () => {
  const debian = debianPackage('Package: libnew1\nArchitecture: arm64\nVersion: 1');
  expect(() => imageSbom(npm, { packages: [debian], versions: {}, env: {} })).toThrow('libnew1 is not known');
  const unnamed = npm.replace('"licenses":[{"license":{"id":"MIT"}}],', '');
  expect(() => imageSbom(unnamed, { packages: [], versions: {}, env: {} })).toThrow('zod names no license');
});

test('rejects a package that dpkg does not know', () => {
  expect(() => debianPackage('Package: libc6')).toThrow('dpkg knows no Version');
});
