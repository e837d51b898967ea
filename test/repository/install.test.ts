/** No text of the project installs the npm package by its name before somebody of the project owns that name. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inForm, pagesIn, TEXTS, type Form } from '../../deploy/release/install.ts';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string, root = ROOT): string => readFileSync(join(root, path), 'utf8');
const PAGES = pagesIn(ROOT);

/** A command that would get the package, or another one with the name of its command, from a registry. */
const BY_NAME = [
  /\b(?:npx|bunx|pnpx|(?:npm|pnpm|yarn|bun) (?:exec|dlx|x)|npm init)(?: --yes| -y| --)* (?:msgsvc-)?opsd\b(?!-)/,
  /\b(?:npm|pnpm|yarn|bun) (?:install|i|add)\b[^\n`'"]* msgsvc-opsd(?:@\S+)?(?![\w/*-])/,
];
const installsByName = (text: string): string[] =>
  text.split('\n').filter((line) => BY_NAME.some((pattern) => pattern.test(line)));

/** Files with the texts of both forms. */
const OF_RELEASES = ['deploy/release/install.ts', 'test/repository/install.test.ts'];

/** Form of the marked texts, which all pages have. */
const formOf = (root = ROOT): Form | 'mixed' =>
  (['clone', 'published'] as const).find((form) =>
    PAGES.every((page) => inForm(read(page, root), form) === read(page, root)),
  ) ?? 'mixed';

test('pages have all marked texts in one form: of a clone, until a release has a date', () => {
  const isReleased = /^## \d+\.\d+\.\d+ – \d{4}-/m.test(read('CHANGELOG.md'));
  expect(isReleased ? ['clone', 'published'] : ['clone']).toContain(formOf());
  const used = PAGES.flatMap((page) =>
    [...read(page).matchAll(/^<!-- install: (\w+) -->$/gm)].map(([, name]) => name!),
  );
  expect([...new Set(used)].toSorted()).toEqual(Object.keys(TEXTS).toSorted());
  // A pair of marks that does not match would keep its text for ever.
  for (const page of PAGES) {
    const text = read(page);
    expect(text.match(/<!-- \/?install\b/g) ?? [], page).toHaveLength(
      2 * (text.match(/^<!-- install: \w+ -->\n\n[^]*?\n\n<!-- \/install -->$/gm)?.length ?? 0),
    );
  }
});

test('no other text installs the package by its name', () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((path) => /\.(?:md|ya?ml|json|ts|js|c?js|sh|txt|tpl|html)$|^(?:\.ci\/|Dockerfile)/.test(path))
    .filter((path) => !OF_RELEASES.includes(path));
  expect(files.length).toBeGreaterThan(1000);
  const found = files.flatMap((path) => installsByName(inForm(read(path), 'clone')).map((line) => `${path}: ${line}`));
  expect(found).toEqual([]);
});

describe('a text that installs the package by its name', () => {
  test.each([
    'npx msgsvc-opsd demo',
    'npx --yes msgsvc-opsd@latest',
    'npx opsd emulator',
    'npm exec -- opsd demo',
    'npm install msgsvc-opsd',
    '`npm install --global msgsvc-opsd` for `opsd demo`',
    'npm i -D msgsvc-opsd@0.1.0',
    'pnpm add msgsvc-opsd',
  ])('is %s', (line) => expect(installsByName(line)).toEqual([line]));

  test.each([
    'npx --no opsd demo',
    'npx --no msgsvc-opsd demo',
    'npm install ../msgsvc-opsd/msgsvc-opsd-*.tgz',
    'npm install --global ./msgsvc-opsd-0.1.0.tgz',
    'npm run --silent opsd -- demo',
    "import { startEmulator } from 'msgsvc-opsd/emulator'",
  ])('is not %s', (line) => expect(installsByName(line)).toEqual([]));
});

test('the release writes the published form into all pages, once and again, and back', () => {
  const folder = tempDir();
  const script = join(ROOT, 'deploy/release/install.ts');
  const write = (form: Form): string => execFileSync(process.execPath, [script, form, folder], { encoding: 'utf8' });
  const copies = (): string[] => PAGES.map((page) => read(page, folder));
  for (const page of PAGES) cpSync(join(ROOT, page), join(folder, page), { recursive: true });
  const marked = copies().filter((text) => text.includes('<!-- install: '));

  write('published');
  const published = copies();
  expect(formOf(folder)).toBe('published');
  expect(published.filter((text) => installsByName(text).length > 0)).toHaveLength(marked.length);
  expect(published.filter((text) => text.includes('never install it by its name'))).toEqual([]);
  write('published');
  expect(copies()).toEqual(published);
  write('clone');
  expect(copies()).toEqual(PAGES.map((page) => inForm(read(page), 'clone')));
});

test('the workflow of the release does so before it packs', () => {
  const workflow = read('.github/workflows/release.yaml');
  expect(workflow).toMatch(/node deploy\/release\/install\.ts published\n[^]*?npm pack --pack-destination/);
});
