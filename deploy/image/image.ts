/**
 * `npm run image`: builds the Dockerfile for real, without a container engine, inspects the result, and runs it.
 *
 * The base is built here, because a registry may be unreachable; `--base IMAGE` uses one from a registry. Results are
 * the image as an archive for `docker load` or `podman load`, and its bill of materials.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createGzip } from 'node:zlib';
import { BASE, buildBase } from './base.ts';
import { buildahIn, unpack } from './buildah.ts';
import { isWell, type Check } from './checks.ts';
import { contentsOf } from './contents.ts';
import { CannotHere, whatIsMissing } from './machine.ts';
import { npmSettings } from './npm-settings.ts';
import { runDaemon, runDemo, runEmulator } from './running.ts';

const ROOT = join(import.meta.dirname, '../..');
const USAGE = `npm run image -- [--base IMAGE] [--out FOLDER]

  --base IMAGE   Debian with Node 24 and npm, from a registry; without it one is made here
  --out FOLDER   where the archive and the bill of materials go; default: data/image

Exit codes: 0 built and well; 1 not; 64 wrong usage; 69 it cannot be built on this machine, and why.
`;
const FAILED = 1;
const USAGE_ERROR = 64;
const UNAVAILABLE = 69;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const row = (name: string, text: string): void => say(`  ${name.padEnd(9)} ${text}`);

process.exitCode = await main();

async function main(): Promise<number> {
  let values: { base?: string; out?: string; help?: boolean };
  try {
    const options = { base: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean' } } as const;
    ({ values } = parseArgs({ options }));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return USAGE_ERROR;
  }
  if (values.help === true) {
    say(USAGE.trimEnd());
    return 0;
  }
  const missing = await whatIsMissing({ localBase: values.base === undefined });
  if (missing.length > 0) return cannot(missing.join('\n  '));
  // Users of the sandbox need access to the folder.
  const folder = mkdtempSync(join(tmpdir(), 'opsd-image-'));
  chmodSync(folder, 0o755);
  try {
    return await buildAndLook(folder, { out: values.out ?? 'data/image', base: values.base });
  } catch (error) {
    if (error instanceof CannotHere) return cannot(error.message);
    process.stderr.write(`${(error as Error).message}\n`);
    return FAILED;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function cannot(why: string): number {
  process.stderr.write(`the image cannot be built on this machine:\n  ${why}\n`);
  return UNAVAILABLE;
}

interface Job {
  readonly out: string;
  readonly base: string | undefined;
}

async function buildAndLook(folder: string, { out, base }: Job): Promise<number> {
  const npm = process.env['npm_execpath'];
  if (npm === undefined) throw new Error('start it as npm run image: npm is part of the base');
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const { revision, epoch } = source();
  const buildah = buildahIn(join(folder, 'buildah'));

  let from = performance.now();
  const took = (): string => {
    const seconds = (performance.now() - from) / 1_000;
    from = performance.now();
    return `${seconds.toFixed(1)} s`;
  };
  if (base === undefined) await buildBase(buildah, folder, npm);
  row('base', base ?? `made here of Debian and Node ${process.versions.node}, in ${took()}`);

  const settings = await npmSettings(folder, npm, process.env);
  const tag = `localhost/opsd:${version}`;
  const ARGS = {
    NODE_IMAGE: base ?? BASE,
    VERSION: version,
    REVISION: revision,
    CREATED: new Date(epoch * 1_000).toISOString(),
    SOURCE_DATE_EPOCH: String(epoch),
  };
  await buildah(
    'build',
    // Only Docker's format has health checks.
    '--format=docker',
    '--isolation=chroot',
    `--timestamp=${epoch}`,
    `--tag=${tag}`,
    base === undefined ? '--pull=never' : '--pull',
    `--file=${join(ROOT, 'Dockerfile')}`,
    `--secret=id=npmrc,src=${settings.npmrc}`,
    `--secret=id=npm-ca,src=${settings.ca}`,
    ...Object.entries(ARGS).map(([name, value]) => `--build-arg=${name}=${value}`),
    ROOT,
  );
  const image = await unpack(buildah, tag, folder);
  row('build', `opsd:${version} at ${revision}, in ${took()}`);
  row('layers', image.layers.join(' '));

  const { files, bytes, parts, checks } = contentsOf(image, settings);
  const kept = await keep(out, { folder, name: `opsd-${version}-${process.arch}` }, (to) => buildah('push', tag, to));
  row('size', `${megabytes(bytes)} in ${files} files, ${megabytes(statSync(kept.archive).size)} compressed`);
  row(
    'of it',
    Object.entries(parts)
      .map(([name, size]) => `${name} ${megabytes(size)}`)
      .join(', '),
  );

  const demo = await runDemo(image, folder);
  row('start', `${demo.startSeconds.toFixed(1)} s until the demo runs; it stopped in ${demo.stopSeconds.toFixed(1)} s`);
  row('memory', `${megabytes(demo.residentBytes)} resident, ${megabytes(demo.peakBytes)} at most`);
  row('kept', Object.values(kept).join(' '));
  say('');
  const others = [...(await runDaemon(image, folder)), ...(await runEmulator(image, folder))];
  return tell([...checks, ...demo.checks, ...others]);
}

/** @returns the exit code */
function tell(checks: readonly Check[]): number {
  for (const check of checks)
    say(isWell(check) ? `  ok      ${check.what}` : `  NOT OK  ${check.what}: ${check.wrong}`);
  return checks.every(isWell) ? 0 : FAILED;
}

/** Returns the commit of the build, and its time. The same commit produces the same files with the same times. */
function source(): { readonly revision: string; readonly epoch: number } {
  const git = (...args: string[]): string | undefined => {
    try {
      return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return undefined;
    }
  };
  const commit = git('rev-parse', 'HEAD');
  const isChanged = git('status', '--porcelain') !== '';
  const epoch = Number(process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct') ?? 0);
  return { revision: commit === undefined ? 'unknown' : `${commit.slice(0, 12)}${isChanged ? '-changed' : ''}`, epoch };
}

interface Kept {
  readonly archive: string;
  readonly bill: string;
}

async function keep(
  out: string,
  { folder, name }: { readonly folder: string; readonly name: string },
  push: (to: string) => Promise<string>,
): Promise<Kept> {
  mkdirSync(out, { recursive: true });
  const archive = join(out, `${name}.tar.gz`);
  const bill = join(out, `${name}.cdx.json`);
  const plain = join(folder, 'image.tar');
  await push(`docker-archive:${plain}`);
  await pipeline(createReadStream(plain), createGzip(), createWriteStream(archive));
  rmSync(plain);
  copyFileSync(join(folder, 'root/opt/opsd/sbom.cdx.json'), bill);
  return { archive, bill };
}
