/**
 * Runs in the image's build: gathers what the final image holds, as trees below a folder.
 *
 *   runtime/   Node, the libraries it is linked to, who the user is, and what scanners read: os-release, dpkg's status
 *   app/       sources, packages without what only people and compilers read, the bill of materials
 *   store/     an empty folder
 *
 * Node brings its own certificates and time zones, so there are no files of either.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { debianPackage, imageSbom, type DebianPackage } from './sbom.ts';

const USER = 65_532;
/** License files stay, under any name. */
const UNREAD = /\.(?:map|d\.ts|d\.mts|d\.cts|ts|mts|cts|md|markdown|flow)$/i;
const LICENCE = /licen[cs]e|copying|notice/i;

const out = process.argv[2];
if (out === undefined) throw new Error('root.ts FOLDER: FOLDER is required');
const runtime = join(out, 'runtime');
const app = join(out, 'app/opt/opsd');
for (const folder of [join(runtime, 'tmp'), join(runtime, 'etc/opsd'), app, join(out, 'store')])
  mkdirSync(folder, { recursive: true });
chmodSync(join(runtime, 'tmp'), 0o1777);

const libraries = linkedTo(process.execPath);
for (const path of libraries) put(path, path);
put(process.execPath, '/usr/local/bin/node');
// The image has no shell and no env, so the first line names the program itself.
write('/usr/local/bin/opsd', "#!/usr/local/bin/node\nimport('/opt/opsd/src/opsd.js');\n");
chmodSync(join(runtime, 'usr/local/bin/opsd'), 0o755);
put('/usr/local/LICENSE', '/usr/local/LICENSE');
put('/etc/os-release', '/etc/os-release');
write('/etc/passwd', `root:x:0:0:root:/:/sbin/nologin\nopsd:x:${USER}:${USER}:opsd:/var/lib/opsd:/sbin/nologin\n`);
write('/etc/group', `root:x:0:\nopsd:x:${USER}:\n`);
write('/etc/nsswitch.conf', 'hosts: files dns\n');

const packages = [...new Map(libraries.map(packageOf).map((found) => [found.name, found])).values()];
for (const { name, status } of packages) {
  write(`/var/lib/dpkg/status.d/${name}`, status);
  put(`/usr/share/doc/${name}/copyright`, `/usr/share/doc/${name}/copyright`);
}

for (const name of ['package.json', 'LICENSE', 'src', 'node_modules'])
  cpSync(name, join(app, name), { recursive: true, verbatimSymlinks: true });
copyFileSync('deploy/image/health.ts', join(app, 'health.ts'));
prune(join(app, 'node_modules'));
const sbom = imageSbom(readFileSync('packages.json', 'utf8'), {
  packages,
  versions: process.versions,
  env: process.env,
});
writeFileSync(join(app, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
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

function write(path: string, text: string): void {
  mkdirSync(dirname(join(runtime, path)), { recursive: true });
  writeFileSync(join(runtime, path), text);
}

function prune(folder: string): void {
  // Links to commands of packages, and npm's copy of the lock file.
  for (const name of ['.bin', '.package-lock.json']) rmSync(join(folder, name), { recursive: true, force: true });
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (UNREAD.test(path) && !LICENCE.test(basename(path))) rmSync(join(folder, path));
}
