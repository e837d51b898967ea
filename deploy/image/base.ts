/** A base for the image without a registry: a small Debian, the project's own Node, and this machine's npm. */
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Buildah } from './buildah.ts';
import { CannotHere } from './machine.ts';
import { run } from './run.ts';

export const BASE = 'localhost/opsd-base';
/** The variant contains only essential packages, and Node also needs the library of C++. */
const INCLUDE = 'libstdc++6';
const FRESH_MS = 24 * 3_600_000;
/** Mirrors may be slow or unavailable. */
const PATIENCE_MS = 240_000;

/** @param npm path of npm's own command @throws {CannotHere} when Debian's packages cannot be loaded, or nothing can be built */
export async function buildBase(buildah: Buildah, folder: string, npm: string): Promise<void> {
  const context = join(folder, 'base');
  mkdirSync(context);
  cpSync(await debian(), join(context, 'debian.tar'));
  cpSync(process.execPath, join(context, 'node'));
  cpSync(join(dirname(dirname(process.execPath)), 'LICENSE'), join(context, 'LICENSE'));
  cpSync(dirname(dirname(npm)), join(context, 'npm'), { recursive: true, dereference: true });
  writeFileSync(
    join(context, 'Dockerfile'),
    `FROM scratch
ADD debian.tar /
COPY node /usr/local/bin/node
COPY LICENSE /usr/local/LICENSE
COPY npm /usr/local/lib/node_modules/npm
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`,
  );
  try {
    await buildah('build', '--isolation=chroot', `--tag=${BASE}`, context);
  } catch (error) {
    // The base contains nothing of the project. If its build fails, no image can be built.
    throw new CannotHere(`buildah builds nothing here, not even the base: ${(error as Error).message}`);
  }
}

/** Returns the path of the Debian archive, which is kept for a day in a folder that only this user can write to. */
async function debian(): Promise<string> {
  const cache = join(tmpdir(), `opsd-image-base-${process.getuid!()}`);
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(cache);
  if (uid !== process.getuid!() || (mode & 0o77) !== 0) throw new CannotHere(`${cache} belongs to another user`);
  const { suite, mirror } = await source();
  const archive = join(cache, `${suite}-${process.arch}.tar`);
  if (existsSync(archive) && Date.now() - statSync(archive).mtimeMs < FRESH_MS) return archive;

  const part = join(cache, `part-${process.pid}.tar`);
  const options = ['--mode=root', '--variant=essential', `--include=${INCLUDE}`, ...(await proxies())];
  const limits = ['Acquire::http::Timeout "20"', 'Acquire::Retries "1"'].map((option) => `--aptopt=${option}`);
  const made = await run('mmdebstrap', [...options, ...limits, suite, part, ...mirror], { timeoutMs: PATIENCE_MS });
  if (made.code !== 0) {
    const said = made.stderr.trim().split('\n').slice(-8).join('\n');
    throw new CannotHere(`no base can be made here, mmdebstrap ended with ${made.code ?? 'a signal'}:\n${said}`);
  }
  renameSync(part, archive);
  return archive;
}

/** Returns this machine's Debian suite and its mirror, or the defaults of mmdebstrap. */
async function source(): Promise<{ readonly suite: string; readonly mirror: readonly string[] }> {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const suite = /^ID=debian$/m.test(release) ? /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] : undefined;
  if (suite === undefined) return { suite: 'bookworm', mirror: [] };
  const format = '$(REPO_URI) $(CODENAME) $(COMPONENT)';
  const { stdout } = await run('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  const uri = stdout.split('\n').flatMap((line) => (line.endsWith(` ${suite} main`) ? [line.split(' ')[0]!] : []))[0];
  return { suite, mirror: uri === undefined ? [] : [uri] };
}

async function proxies(): Promise<string[]> {
  const { stdout } = await run('apt-config', ['dump']);
  const lines = stdout.split('\n').filter((line) => /^Acquire::https?::Proxy\b/i.test(line));
  return lines.map((line) => `--aptopt=${line.replace(/;$/, '')}`);
}
