/** The tutorials, as a reader follows them: in an empty folder, with the package that npm installs. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { InstalledPackage } from '../support/installed-package.ts';
import { installed } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { stepsOf } from './tutorial-page.ts';
import { follow } from './tutorial-reader.ts';

const FOLDER = join(import.meta.dirname, '../../docs/tutorials');
const TUTORIALS = readdirSync(FOLDER).map((file) => [file, stepsOf(readFileSync(join(FOLDER, file), 'utf8'))] as const);

/** Programs that a tutorial needs, beside those that every machine of these tests has. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  'first-dashboard.md': ['prometheus', 'promtool', 'curl'],
  'first-policy.md': ['curl'],
};

/** Declares the tests of all tutorials. @param user returns the package, once it is packed */
export function testTutorials(user: () => Pick<InstalledPackage, 'tarball'>): void {
  test.for(TUTORIALS)('%s does what it shows', async ([file, steps], { skip }) => {
    const missing = (NEEDED[file] ?? []).filter((name) => installed(name) === undefined);
    skip(missing.length > 0, `not installed: ${missing.join(', ')}`);
    expect(steps.filter(({ kind }) => kind === 'command').length).toBeGreaterThan(4);
    const folder = join(tempDir(), 'my folder');
    mkdirSync(folder);
    await follow(steps, { folder, tarball: user().tarball });
  });

  test('all blocks of the tutorials are run, except these', () => {
    const left = TUTORIALS.flatMap(([, steps]) =>
      steps.flatMap((step) => (step.kind === 'not run' ? [step.reason] : [])),
    );
    const cloning = TUTORIALS.map(() => 'it clones the project');
    expect(left.toSorted()).toEqual([...cloning, 'it needs a container engine']);
  });
}
