/** The steps of a release that need no network. */
import { describe, expect, test } from 'vitest';
import {
  releaseFiles,
  releaseNotes,
  releaseProblems,
  versionsIn,
  type ReleaseFiles,
} from '../../deploy/release/release.ts';

const CHANGELOG = `# Changelog

About this file.

## 1.10.0 – 2027-01-02

### Added

- Newer.

## 1.1.0 – 2026-12-01

### Added

- A thing.
  ### not a heading

### Fixed

- A fault of 1.0.0.

## 1.0.0 – 2026-11-01
`;

const CHART = 'apiVersion: v2\nname: opsd\nversion: 1.1.0\nappVersion: "1.1.0"\n';

const FILES: ReleaseFiles = {
  manifest: '{ "version": "1.1.0" }',
  emulator: '{ "version": "1.1.0" }',
  lock: '{ "version": "1.1.0" }',
  chart: CHART,
  changelog: CHANGELOG,
};

describe('the notes of a release', () => {
  test('are its section of the changelog', () => {
    expect(releaseNotes('v1.1.0', CHANGELOG)).toBe(
      '### Added\n\n- A thing.\n  ### not a heading\n\n### Fixed\n\n- A fault of 1.0.0.',
    );
  });

  test.each(['v1.1', '1.1.0', 'v1.1.1', 'v1.1.0.', 'v1x1.0'])('do not exist for %s', (tag) => {
    expect(releaseNotes(tag, CHANGELOG)).toBeUndefined();
  });

  test('exist for the version of this package', () => {
    const { version } = JSON.parse(releaseFiles().manifest) as { version: string };
    expect(releaseNotes(`v${version}`, releaseFiles().changelog)).toMatch(/^### \w+\n/);
  });
});

describe('a release', () => {
  test('has no problems if all versions agree with the tag', () => {
    expect(releaseProblems('v1.1.0', FILES)).toEqual([]);
  });

  test.each<[string, string, Partial<ReleaseFiles>, string]>([
    ['a tag of another form', 'release-1', {}, 'tag release-1: must be'],
    ['a pre-release', 'v1.1.0-rc.1', {}, 'tag v1.1.0-rc.1: must be'],
    ['another package', 'v1.1.0', { manifest: '{ "version": "1.0.0" }' }, 'package.json: 1.0.0 is not 1.1.0'],
    ['another emulator', 'v1.1.0', { emulator: '{ "version": "1.0.0" }' }, 'emulator/package.json: 1.0.0 is not 1.1.0'],
    ['another lock', 'v1.1.0', { lock: '{ "version": "1.0.0" }' }, 'package-lock.json: 1.0.0 is not 1.1.0'],
    [
      'another chart',
      'v1.1.0',
      { chart: CHART.replace('version: 1.1.0', 'version: 1.1.1') },
      'Chart.yaml, version: 1.1.1 is not 1.1.0',
    ],
    [
      'a chart of another application',
      'v1.1.0',
      { chart: CHART.replace('"1.1.0"', '1.1.2') },
      'Chart.yaml, appVersion: 1.1.2 is not 1.1.0',
    ],
    ['a chart without a version', 'v1.1.0', { chart: 'name: opsd\nappVersion: 1.1.0' }, 'Chart.yaml, version: missing'],
    ['no section', 'v1.1.0', { changelog: '# Changelog\n' }, 'CHANGELOG.md: no section 1.1.0'],
    [
      'no date',
      'v1.1.0',
      { changelog: '## 1.1.0 – unreleased\n\n- A\n' },
      'CHANGELOG.md: section 1.1.0 has the date "unreleased"',
    ],
    ['no changes', 'v1.0.0', {}, 'CHANGELOG.md: section 1.0.0 is empty'],
  ])('is refused with %s', (_what, tag, files, problem) => {
    const problems = releaseProblems(tag, { ...FILES, ...files });
    expect(
      problems.some((found) => found.startsWith(problem)),
      problems.join('\n'),
    ).toBe(true);
  });
});

test('package, lock, and chart name the same version', () => {
  const versions = versionsIn(releaseFiles());
  expect(new Set(Object.values(versions)).size, JSON.stringify(versions)).toBe(1);
});
