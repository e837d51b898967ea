/**
 * The image, built and run for real if this machine allows it. Otherwise the test checks only that the reason is
 * reported. test/deploy checks the Dockerfile itself.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const SCRIPT = join(ROOT, 'deploy/image/image.ts');

test('npm run image builds it, inspects it, and runs it; or reports why it cannot', async () => {
  const out = tempDir();
  // Packages are loaded as this machine's npm loads them, and its environment may name the source.
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  const run = start('npm', ['run', '--silent', 'image', '--', '--out', out], { env: env as Record<string, string> });
  const { code } = await run.ended;
  process.stderr.write(run.stdout() + run.stderr());
  if (code === 69) {
    expect(run.stderr()).toMatch(/^the image cannot be built on this machine:\n {2}\S/);
    return;
  }
  expect(run.stdout()).not.toContain('NOT OK');
  expect(code).toBe(0);
  expect(run.stdout().match(/^ {2}ok /gm)?.length).toBe(23);
  expectAsDocumented(run.stdout());

  const [archive, bill] = ['.tar.gz', '.cdx.json'].map((end) => readdirSync(out).find((name) => name.endsWith(end)));
  expect(existsSync(join(out, archive!))).toBe(true);
  const { bomFormat, components } = JSON.parse(readFileSync(join(out, bill!), 'utf8')) as {
    bomFormat: string;
    components: readonly { readonly name: string }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['node', 'libc6', 'undici', 'zod', 'yaml']));
  expect(names).not.toContain('typescript');
});

test('names the programs that are missing', async () => {
  const run = start(process.execPath, [SCRIPT], { env: { PATH: tempDir() } });
  expect((await run.ended).code).toBe(69);
  for (const program of ['buildah', 'bwrap', 'nsenter', 'mmdebstrap'])
    expect(run.stderr()).toContain(`${program} is not installed: apt-get install`);
});

test('needs no Debian of its own with a given base, and rejects unknown options', async () => {
  const given = start(process.execPath, [SCRIPT, '--base', 'node:24'], { env: { PATH: tempDir() } });
  expect((await given.ended).code).toBe(69);
  expect(given.stderr()).not.toContain('mmdebstrap is not');
  const wrong = start(process.execPath, [SCRIPT, '--bass', 'node:24']);
  expect((await wrong.ended).code).toBe(64);
  expect(wrong.stderr()).toContain('--base IMAGE');
});

/** Compares the figures of the output with those of docs/image.md, which are of one architecture. */
function expectAsDocumented(output: string): void {
  if (process.arch !== 'x64') return;
  const figures = (text: string, form: RegExp): number[] => form.exec(text)!.slice(1).map(Number);
  const [bytes, files, packed] = figures(output, /size +([\d.]+) MB in (\d+) files, ([\d.]+) MB compressed/);
  const documented = readFileSync(join(ROOT, 'docs/image.md'), 'utf8');
  const [atBytes, atFiles, atPacked] = figures(documented, /has about (\d+) MB in (\d+) files, (\d+) MB compressed/);
  expect(Math.abs(bytes! / atBytes! - 1), `${bytes} MB`).toBeLessThan(0.05);
  expect(Math.abs(packed! / atPacked! - 1), `${packed} MB compressed`).toBeLessThan(0.05);
  expect(Math.abs(files! / atFiles! - 1), `${files} files`).toBeLessThan(0.25);
}
