/** Required and forbidden content of the image's files. */
import { closeSync, lstatSync, openSync, readFileSync, readSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { BuiltImage } from './buildah.ts';
import type { Check } from './checks.ts';
import type { NpmSettings } from './npm-settings.ts';

interface File {
  /** Path without the first slash. */
  readonly path: string;
  readonly stats: Stats;
}

/** Regular program files: Node, and the loader with its libraries. */
const PROGRAMS = /^(?:usr\/local\/bin\/node|lib(?:64)?\/(?:[\w-]+\/)?[\w.+-]+\.so[\w.]*)$/;
const SHELLS_AND_TOOLS = /(?:^|\/)(?:ba|da|a|z|k)?sh$|(?:^|\/)(?:busybox|env|perl|npm|npx|corepack|apt|dpkg)$/;
const NOT_BUNDLED = /(?:^|\/)node_modules\/|\.(?:ts|map)$/;
/** Paths that users other than root can write to. */
const WRITABLE = ['tmp', 'var/lib/opsd'];

export interface Contents {
  readonly files: number;
  readonly bytes: number;
  /** Sizes of the largest parts, in bytes. */
  readonly parts: Readonly<Record<'node' | 'libraries' | 'bundle', number>>;
  readonly checks: readonly Check[];
}

export function contentsOf({ root, inspected }: BuiltImage, npm: NpmSettings): Contents {
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((path) => ({
    path,
    stats: lstatSync(join(root, path)),
  }));
  const files = all.filter(({ stats }) => stats.isFile());
  const size = (under: RegExp): number => sum(files.filter(({ path }) => under.test(path)));
  const programs = files.filter(({ path }) => isElf(join(root, path)));
  const strange = [
    ...programs.filter(({ path }) => !PROGRAMS.test(path)),
    ...all.filter(({ path, stats }) => !stats.isDirectory() && SHELLS_AND_TOOLS.test(path)),
  ];
  const open = all.filter(
    ({ path, stats }) => !WRITABLE.includes(path) && !stats.isSymbolicLink() && mayBeWritten(stats),
  );
  const closed = all.filter(({ stats }) => (stats.mode & 0o444) !== 0o444);
  const special = all.filter(({ stats }) => (stats.mode & 0o6000) !== 0);
  const told = files.filter(({ path }) => tells(readFileSync(join(root, path), 'latin1'), npm.secrets));
  const named = ['opt/opsd/package.json', 'opt/opsd/sbom.cdx.json'].filter((path) =>
    tells(readFileSync(join(root, path), 'utf8'), npm.hosts),
  );
  return {
    files: files.length,
    bytes: sum(files),
    parts: {
      node: size(/^usr\/local\/bin\/node$/),
      libraries: size(/^lib/),
      bundle: size(/^opt\/opsd\/dist\//),
    },
    checks: [
      check('the only program is Node: no shell, no package manager', strange),
      check(
        'all packages are in the bundle, without source maps',
        files.filter(({ path }) => NOT_BUNDLED.test(path)),
      ),
      check('only root can write, except to the store and /tmp', open),
      check('everyone can read', closed),
      check('no file grants rights to its caller', special),
      check('no npm setting of the build is left', [...told, ...named.map((path) => ({ path }))]),
      {
        what: 'nor is one in the metadata of the image',
        wrong: tells(inspected, [...npm.secrets, ...npm.hosts]) ? 'it is' : undefined,
      },
      sameAsBill(root),
    ],
  };
}

function check(what: string, wrong: readonly { readonly path: string }[]): Check {
  return {
    what,
    wrong:
      wrong.length === 0
        ? undefined
        : wrong
            .slice(0, 5)
            .map(({ path }) => `/${path}`)
            .join(', '),
  };
}

/** Compares the bill of materials with the licenses, whose sections begin with lines such as `zod 4.6.7 (MIT)`. */
function sameAsBill(root: string): Check {
  const licenses = readFileSync(join(root, 'opt/opsd/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  const licensed = [...licenses.matchAll(/^(\S+) (\d\S*) \(.+\)$/gm)].map(([, name, version]) => `${name}@${version}`);
  const bill = JSON.parse(readFileSync(join(root, 'opt/opsd/sbom.cdx.json'), 'utf8')) as {
    components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
  };
  const listed = bill.components
    .filter(({ purl }) => purl.startsWith('pkg:npm/'))
    .map(({ name, version }) => `${name}@${version}`);
  const others = bill.components.filter(({ purl }) => !purl.startsWith('pkg:npm/')).map(({ name }) => name);
  const apart = [
    ...new Set(licensed).symmetricDifference(new Set(listed)),
    ...['node', 'libc6'].filter((name) => !others.includes(name)),
  ];
  return {
    what: `the bill of materials names the ${licensed.length} packages of the bundle, Node, and ${others.length - 1} of Debian`,
    wrong: apart.length === 0 && licensed.length > 0 ? undefined : `not in both: ${apart.slice(0, 5).join(', ')}`,
  };
}

function mayBeWritten({ mode, uid, gid }: Stats): boolean {
  return (mode & 0o022) !== 0 || uid !== 0 || gid !== 0;
}

function tells(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => text.includes(secret));
}

function sum(files: readonly File[]): number {
  return files.reduce((total, { stats }) => total + stats.size, 0);
}

function isElf(path: string): boolean {
  const bytes = Buffer.alloc(4);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, 4, 0);
  closeSync(file);
  return bytes.toString('latin1') === '\u007FELF';
}
