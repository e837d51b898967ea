/** The bill of materials of the whole image, as CycloneDX: the program, the packages in its bundle, Node, and Debian's libraries. */
import { debianLicense, licensesOf, nodePartLicense } from './licenses.ts';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly arch: string;
  /** Entry of dpkg's status file, which scanners read. */
  readonly status: string;
}

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
}

/** Parts of package-lock.json. */
export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

export interface Image {
  readonly program: BundledPackage;
  readonly bundled: readonly BundledPackage[];
  readonly lock: LockFile;
  readonly debian: readonly DebianPackage[];
  /** Versions of Node and of its built-in parts. */
  readonly versions: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Keys of `process.versions` that are not parts of Node: Node itself, and versions of interfaces and data. */
const NO_PARTS = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz']);

export function debianPackage(status: string): DebianPackage {
  const field = (name: string): string => {
    const value = new RegExp(`^${name}: (.*)$`, 'm').exec(status)?.[1];
    if (value === undefined) throw new Error(`dpkg knows no ${name}:\n${status}`);
    return value;
  };
  return { name: field('Package'), version: field('Version'), arch: field('Architecture'), status };
}

/**
 * Builds the bill. The same build gives the same text: no random serial number, and the time is SOURCE_DATE_EPOCH, or
 * absent. The source of packages is omitted, because it depends on the builder and may be a private address.
 */
export function imageSbom({ program, bundled, lock, debian, versions, env }: Image): object {
  const epoch = Number(env['SOURCE_DATE_EPOCH'] || Number.NaN);
  const packages = bundled.map((found) => ({ ...npmComponent('library', found), hashes: hashesOf(found, lock) }));
  const application = npmComponent('application', program);
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      ...(Number.isFinite(epoch) && { timestamp: new Date(epoch * 1_000).toISOString() }),
      component: application,
    },
    components: [nodeComponent(versions), ...debian.map(debianComponent), ...packages],
    dependencies: [{ ref: application['bom-ref'], dependsOn: packages.map((found) => found['bom-ref']) }],
  };
}

function npmComponent(type: string, { name, version, license }: BundledPackage) {
  return {
    'bom-ref': `${name}@${version}`,
    type,
    name,
    version,
    licenses: licensesOf(license),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  };
}

/** @throws {Error} if the lock file has no hash of the package */
function hashesOf({ name, version }: BundledPackage, { packages }: LockFile): readonly object[] {
  const [, found] =
    Object.entries(packages).find(
      ([path, locked]) => path.endsWith(`node_modules/${name}`) && locked.version === version,
    ) ?? [];
  const hash = /^sha512-(\S+)$/.exec(found?.integrity ?? '')?.[1];
  if (hash === undefined) throw new Error(`package-lock.json has no hash of ${name}@${version}`);
  return [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }];
}

function nodeComponent(versions: Image['versions']): object {
  const node = versions['node'] ?? 'unknown';
  return {
    'bom-ref': `node@${node}`,
    type: 'platform',
    name: 'node',
    version: node,
    purl: `pkg:generic/node@${node}`,
    licenses: licensesOf('MIT'),
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    components: Object.entries(versions)
      .filter(([name, version]) => version !== '' && !NO_PARTS.has(name))
      .map(([name, version]) => ({
        'bom-ref': `node@${node}/${name}`,
        type: 'library',
        name,
        version,
        licenses: nodePartLicense(name),
      })),
  };
}

function debianComponent({ name, version, arch }: DebianPackage): object {
  return {
    'bom-ref': `deb/${name}@${version}`,
    type: 'library',
    name,
    version,
    licenses: debianLicense(name),
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`,
  };
}
