/** The public address of the project is the package's `homepage`: everything else derives from it. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
const ADDRESS = manifest.homepage;
/** Host of the address until the project is public. */
const PLACEHOLDER = ['msgsvc-opsd', 'example'].join('.');
const HOSTS = new Set([PLACEHOLDER, new URL(ADDRESS).host]);
const SKIPPED = new Set(['.git', 'node_modules', 'data', 'dist', 'coverage']);

/** Returns the texts that contain a host of the project, up to the next character that no URL has. */
function spellings(text: string): string[] {
  const hosts = [...HOSTS].map((host) => host.replaceAll('.', String.raw`\.`)).join('|');
  return [...text.matchAll(new RegExp(String.raw`[\w+:/@.-]*(?:${hosts})(?![\w-])[\w/.-]*`, 'gi'))].map(
    ([found]) => found,
  );
}

function wrongSpellings(text: string): string[] {
  return spellings(text).filter(
    (found) => !found.replace(/^git\+/, '').startsWith(ADDRESS) && found !== manifest.bugs.email,
  );
}

function textFiles(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : textFiles(path);
    return entry.isFile() && !/\.(png|gz|db|log)$/.test(entry.name) ? [path] : [];
  });
}

test('every file spells the address as the package does', () => {
  const read = textFiles().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
  expect(read.filter(({ text }) => spellings(text).length > 0).length).toBeGreaterThan(20);
  expect(read.flatMap(({ path, text }) => wrongSpellings(text).map((found) => `${path}: ${found}`))).toEqual([]);
});

test.each([
  ['without TLS', `http://${PLACEHOLDER}/`],
  ['without a slash', `https://${PLACEHOLDER}`],
  ['another host', `https://www.${PLACEHOLDER}/`],
  ['the host alone', PLACEHOLDER],
  ['another port', `https://${PLACEHOLDER}:8443/`],
  ['capitals', `https://${PLACEHOLDER.toUpperCase()}/`],
  ['another mailbox', `info@${PLACEHOLDER}`],
])('finds the address %s', (_what, spelling) => {
  expect(wrongSpellings(`see (${spelling}), "${spelling}"`)).toHaveLength(2);
});

test('addresses below it, and other hosts, are no other spelling', () => {
  expect(wrongSpellings(`<${ADDRESS}runbooks/A.md>, git+${ADDRESS}x.git, ${manifest.bugs.email}`)).toEqual([]);
  expect(spellings(`https://x.example/ ${PLACEHOLDER}-x`)).toEqual([]);
});

test.each([
  ['package.json', 'its repository', manifest.repository.url],
  ['package.json', 'its issues', manifest.bugs.url],
  ['Dockerfile', 'the labels of the image', `ARG SOURCE=${ADDRESS}\n`],
  ['deploy/prometheus/opsd-alerts-core.yaml', 'runbooks', `runbook_url: ${ADDRESS}runbooks/`],
  ['deploy/helm/opsd/Chart.yaml', 'the home of the chart', `home: ${ADDRESS}\n`],
  ['.github/ISSUE_TEMPLATE/config.yml', 'links', `url: ${ADDRESS}`],
  ['SECURITY.md', 'the contact', `<${manifest.bugs.email}>`],
])('%s has it in %s', (file, _what, text) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).toContain(text);
});
