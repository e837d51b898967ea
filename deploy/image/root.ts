/**
 * Runs in the image's build: gathers what the final image holds, as trees below a folder.
 *
 *   runtime/   Node, the libraries it is linked to, who the user is, and what scanners read: os-release, dpkg's status
 *   app/       the bundle, the health check, the bill of materials
 *   store/     an empty folder
 *
 * Node brings its own certificates and time zones, so there are no files of either.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { build } from '../package/build.ts';
import { debianPackage, imageSbom, type BundledPackage, type DebianPackage, type LockFile } from './sbom.ts';
import { withoutSymbols } from './symbols.ts';

const USER = 65_532;

const out = process.argv[2];
if (out === undefined) throw new Error('root.ts FOLDER: FOLDER is required');
const runtime = join(out, 'runtime');
const app = join(out, 'app/opt/opsd');
for (const folder of [join(runtime, 'tmp'), join(runtime, 'etc/opsd'), app, join(out, 'store')])
  mkdirSync(folder, { recursive: true });
chmodSync(join(runtime, 'tmp'), 0o1777);

const libraries = linkedTo(process.execPath);
for (const path of libraries) put(path, path);
write('/usr/local/bin/node', withoutSymbols(readFileSync(process.execPath)));
chmodSync(join(runtime, 'usr/local/bin/node'), 0o755);
// The image has no shell and no env, so the first line names the program itself.
write('/usr/local/bin/opsd', "#!/usr/local/bin/node\nimport('/opt/opsd/dist/opsd.js');\n");
chmodSync(join(runtime, 'usr/local/bin/opsd'), 0o755);
put('/usr/local/LICENSE', '/usr/local/LICENSE');
put('/etc/os-release', '/etc/os-release');
write('/etc/passwd', `root:x:0:0:root:/:/sbin/nologin\nopsd:x:${USER}:${USER}:opsd:/var/lib/opsd:/sbin/nologin\n`);
write('/etc/group', `root:x:0:\nopsd:x:${USER}:\n`);
write('/etc/nsswitch.conf', 'hosts: files dns\n');

const debian = [...new Map(libraries.map(packageOf).map((found) => [found.name, found])).values()];
for (const found of debian) {
  write(`/var/lib/dpkg/status.d/${found.name}`, found.status);
  put(`/usr/share/doc/${found.name}/copyright`, `/usr/share/doc/${found.name}/copyright`);
}

const bundled = await build(join(app, 'dist'));
prune(join(app, 'dist'));
const { name, version, license } = readJson('package.json') as BundledPackage;
writeJson('package.json', { name, version, license, type: 'module' });
copyFileSync('LICENSE', join(app, 'LICENSE'));
writeFileSync(join(app, 'health.js'), stripTypeScriptTypes(readFileSync('deploy/image/health.ts', 'utf8')));
const sbom = imageSbom({
  program: { name, version, license },
  bundled,
  lock: readJson('package-lock.json') as LockFile,
  debian,
  versions: process.versions,
  env: process.env,
});
writeJson('sbom.cdx.json', sbom);
// Independent of the checkout's umask, the daemon's user can read, and only root can write.
execFileSync('chmod', ['-R', 'u=rwX,go=rX', app]);

/** Returns every library that the loader gives a program, and the loader itself. */
function linkedTo(program: string): string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8' });
  const paths = said.split('\n').flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
  if (paths.length === 0) throw new Error(`ldd ${program} names no library:\n${said}`);
  return paths;
}

function packageOf(library: string): DebianPackage {
  // The same file may be known below /usr.
  const said = execFileSync('dpkg-query', ['--search', `*/${basename(library)}`], { encoding: 'utf8' });
  const owner = said.split('\n').find((line) => line.endsWith(library));
  if (owner === undefined) throw new Error(`no package has ${library}:\n${said}`);
  const name = owner.slice(0, owner.lastIndexOf(': '));
  return debianPackage(execFileSync('dpkg-query', ['--status', name], { encoding: 'utf8' }));
}

function put(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(dirname(join(runtime, to)), { recursive: true });
  copyFileSync(from, join(runtime, to));
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(runtime, path)), { recursive: true });
  writeFileSync(join(runtime, path), content);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function writeJson(name: string, value: object): void {
  writeFileSync(join(app, name), `${JSON.stringify(value, undefined, 2)}\n`);
}

/** Removes the files for users of the npm package: types, and source maps, which Node does not use by default. */
function prune(folder: string): void {
  for (const name of readdirSync(folder)) if (/\.(?:map|d\.ts)$/.test(name)) rmSync(join(folder, name));
}
