/** deploy/tools/build.sh, with a program in the place of Go. */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { start, type Program } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const TOOLS = join(import.meta.dirname, '../../deploy/tools');

/** A copy of the folder, a cache, and a `go` that appends its arguments to a file and runs a script. */
function world(script: string): {
  readonly build: (...args: string[]) => Promise<Result>;
  readonly folder: string;
  readonly calls: () => string[];
} {
  const folder = join(tempDir(), 'with a space');
  mkdirSync(join(folder, 'tools'), { recursive: true });
  for (const name of ['build.sh', 'go.mod', 'go.sum']) copyFileSync(join(TOOLS, name), join(folder, 'tools', name));
  const calls = join(folder, 'calls');
  writeFileSync(calls, '');
  writeFileSync(join(folder, 'go'), `#!/bin/bash\necho "$*" >>'${calls}'\n${script}\n`);
  chmodSync(join(folder, 'go'), 0o755);
  const build = (...args: string[]): Promise<Result> =>
    ended(start(join(folder, 'tools/build.sh'), args, { env: { XDG_CACHE_HOME: folder, GO: join(folder, 'go') } }));
  return {
    build,
    folder,
    calls: () =>
      readFileSync(calls, 'utf8')
        .trim()
        .split('\n')
        .filter((line) => line !== ''),
  };
}

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(program: Program): Promise<Result> {
  const { code } = await program.ended;
  return { code, stdout: program.stdout().trim(), stderr: program.stderr() };
}

/** Answers the version, and writes one tool. */
const BUILDS = `
if [ "$1" = env ]; then echo go1.26.0; exit; fi
while [ "$1" != -o ]; do shift; done
echo tool >"$2/tool"`;

test('builds once, and prints the folder from then on', async () => {
  const { build, folder, calls } = world(BUILDS);
  const first = await build();
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(dirname(first.stdout)).toBe(join(folder, 'msgsvc-opsd/tools'));
  expect(readdirSync(first.stdout)).toEqual(['tool']);
  const count = calls().length;
  expect(await build()).toEqual(first);
  expect(await build('--folder')).toEqual(first);
  expect(calls()).toHaveLength(count);
  expect(readdirSync(dirname(first.stdout))).toHaveLength(1);
});

test('other versions have another folder', async () => {
  const { build, folder } = world(BUILDS);
  const { stdout } = await build('--folder');
  for (const name of ['go.mod', 'go.sum']) {
    const path = join(folder, 'tools', name);
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n`);
  }
  expect((await build('--folder')).stdout).not.toBe(stdout);
});

test('two builds at once leave one folder', async () => {
  const { build } = world(BUILDS);
  const [one, other] = await Promise.all([build(), build()]);
  expect(one).toEqual(other);
  expect(readdirSync(dirname(one.stdout))).toHaveLength(1);
  expect(readdirSync(one.stdout)).toEqual(['tool']);
});

test('a failed build leaves nothing, so that the next one builds', async () => {
  const { build, folder } = world(`${BUILDS}\necho broken >&2; exit 7`);
  expect(await build()).toEqual({ code: 7, stdout: '', stderr: 'broken\n' });
  expect(readdirSync(join(folder, 'msgsvc-opsd/tools'))).toEqual([]);
});

test('without Go it says what to install', async () => {
  const { folder } = world(BUILDS);
  const build = start(join(folder, 'tools/build.sh'), [], { env: { XDG_CACHE_HOME: folder, GO: 'no-such-go' } });
  expect(await ended(build)).toEqual({
    code: 3,
    stdout: '',
    stderr: 'deploy/tools/build.sh: Go is not installed; install Go 1.26 or newer\n',
  });
});

test('an old Go downloads the version of go.mod as a module', async () => {
  const { build, folder, calls } = world(`
case "$*" in
  'env GOVERSION') echo go1.19.8;;
  'env GOOS') echo linux;;
  'env GOARCH') echo arm64;;
  'mod download'*) printf '{\\n\\t"Path": "golang.org/toolchain",\\n\\t"Dir": "%s/newer",\\n\\t"Sum": "x"\\n}\\n' "$XDG_CACHE_HOME";;
  *) exit 9;;
esac`);
  for (const name of ['bin', 'pkg/tool']) mkdirSync(join(folder, 'newer', name), { recursive: true });
  writeFileSync(join(folder, 'newer/bin/go'), `#!/bin/bash${BUILDS}`, { mode: 0o400 });
  const { code, stdout } = await build();
  expect(code).toBe(0);
  expect(readdirSync(stdout)).toEqual(['tool']);
  const [version] = /(?<=^go ).*$/m.exec(readFileSync(join(TOOLS, 'go.mod'), 'utf8'))!;
  expect(calls()).toContain(`mod download -json golang.org/toolchain@v0.0.1-go${version}.linux-arm64`);
});
