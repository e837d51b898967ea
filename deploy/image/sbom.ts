/** The bill of materials of the whole image, as CycloneDX. npm provides the packages, Node and dpkg the rest. */
import { debianLicense, NODE_LICENSE, nodePartLicense } from './licenses.ts';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly arch: string;
  /** Entry of dpkg's status file, which scanners read. */
  readonly status: string;
}

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly object[];
  readonly externalReferences?: readonly Reference[];
}

interface Reference {
  readonly type: string;
  readonly url: string;
}

interface Bom {
  readonly metadata: { readonly timestamp?: string; readonly component: object };
  readonly components: readonly Component[];
}

interface Image {
  readonly packages: readonly DebianPackage[];
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
export function imageSbom(npm: string, { packages, versions, env }: Image): object {
  const { serialNumber: _random, ...bom } = JSON.parse(npm) as Bom & { serialNumber?: string };
  const { timestamp: _now, ...metadata } = bom.metadata;
  const epoch = Number(env['SOURCE_DATE_EPOCH'] || Number.NaN);
  const node = versions['node'] ?? 'unknown';
  return {
    ...bom,
    metadata: {
      ...(Number.isFinite(epoch) && { timestamp: new Date(epoch * 1_000).toISOString() }),
      ...metadata,
      // npm uses the name of the folder instead.
      component: { ...metadata.component, name: 'msgsvc-opsd' },
    },
    components: [
      {
        'bom-ref': `node@${node}`,
        type: 'platform',
        name: 'node',
        version: node,
        purl: `pkg:generic/node@${node}`,
        licenses: NODE_LICENSE,
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
      },
      ...packages.map(({ name, version, arch }) => ({
        'bom-ref': `deb/${name}@${version}`,
        type: 'library',
        name,
        version,
        licenses: debianLicense(name),
        purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`,
      })),
      ...bom.components.map(withoutPlaces),
    ],
  };
}

function withoutPlaces({ externalReferences = [], ...component }: Component): object {
  if (component.licenses === undefined) throw new Error(`the package ${component.name} names no license`);
  const kept = externalReferences
    .filter(({ type }) => type !== 'distribution')
    .flatMap((reference) => {
      const url = webUrl(reference.url);
      return url === undefined ? [] : [{ ...reference, url }];
    });
  return { ...component, ...(kept.length > 0 && { externalReferences: kept }) };
}

/** Converts repositories in forms of git, such as `git@host:path`. These are not URLs and make the bill invalid. */
function webUrl(text: string): string | undefined {
  const url = text
    .replace(/^(?:git\+)?(?:ssh|git|https?):\/\/(?:git@)?/, 'https://')
    .replace(/^git@([^:/]+):/, 'https://$1/');
  return URL.parse(url)?.protocol === 'https:' ? url : undefined;
}
