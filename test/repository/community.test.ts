/** Files that contributors read name things that exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('each line of CODEOWNERS has a path that exists, and an owner', () => {
  const lines = read('.github/CODEOWNERS')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines[0]).toMatch(/^\* +@/);
  for (const line of lines.slice(1)) {
    const [, path] = /^\/(\S+) +@[\w-]+\/[\w-]+$/.exec(line)!;
    expect(existsSync(join(ROOT, path!)), path).toBe(true);
  }
});

test('editors indent and wrap as the formatter does', () => {
  const everywhere = read('.editorconfig').split('\n\n')[1]!;
  const settings = Object.fromEntries(
    [...everywhere.matchAll(/^(\w+) = (\w+)$/gm)].map(([, key, value]) => [key, value]),
  );
  const { printWidth } = JSON.parse(read('.oxfmtrc.json')) as { readonly printWidth: number };
  expect(read('.editorconfig')).toMatch(/^root = true\n\n\[\*\]\n/);
  expect(settings).toMatchObject({ indent_style: 'space', indent_size: '2', max_line_length: String(printWidth) });
});

test('CONTRIBUTING.md names scripts, tests, and files that exist', () => {
  const text = read('CONTRIBUTING.md');
  const scripts = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!);
  expect(scripts.filter((name) => !Object.hasOwn(manifest.scripts, name))).toEqual([]);
  const paths = [...text.matchAll(/(?<![\w./-])(?:\.ci|deploy|docs|dashboards|test)\/[\w./-]*[\w/]/g)].map(
    ([path]) => path,
  );
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('dependency updates cover npm, Go, actions, images, and the packages of .ci/run', () => {
  const { enabledManagers, customManagers } = JSON.parse(read('.github/renovate.json')) as {
    readonly enabledManagers: readonly string[];
    readonly customManagers: readonly { readonly matchStrings: readonly string[] }[];
  };
  expect(enabledManagers).toEqual(
    expect.arrayContaining(['npm', 'gomod', 'github-actions', 'dockerfile', 'docker-compose']),
  );
  const packages = [...read('.ci/run').matchAll(/^ *npm pack .* (\S+@[\d.]+) /gm)].map(([, name]) => name!);
  expect(packages.length).toBeGreaterThan(0);
  // The old Node is old on purpose.
  for (const name of packages.filter((found) => !found.startsWith('node-linux-')))
    expect(
      customManagers.some(({ matchStrings }) => matchStrings.some((match) => new RegExp(match).test(name))),
      name,
    ).toBe(true);
});
