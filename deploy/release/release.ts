/**
 * Steps of a release that need no network:
 *
 *   node deploy/release/release.ts check TAG   fails if the tag, the package, the chart and the changelog disagree
 *   node deploy/release/release.ts notes TAG   prints the section of the version in CHANGELOG.md
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const USAGE = 'usage: node deploy/release/release.ts check|notes TAG\n';

/** Texts of the files that name the version. */
export interface ReleaseFiles {
  readonly manifest: string;
  readonly emulator: string;
  readonly lock: string;
  readonly chart: string;
  readonly changelog: string;
}

export function releaseFiles(root = ROOT): ReleaseFiles {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  return {
    manifest: read('package.json'),
    emulator: read('emulator/package.json'),
    lock: read('package-lock.json'),
    chart: read('deploy/helm/opsd/Chart.yaml'),
    changelog: read('CHANGELOG.md'),
  };
}

/** Returns the versions by the places that name them. */
export function versionsIn({ manifest, emulator, lock, chart }: ReleaseFiles): Readonly<Record<string, string>> {
  const versionOf = (text: string): string => (JSON.parse(text) as { readonly version: string }).version;
  const key = (name: string): string => new RegExp(`^${name}: *"?([^"\\s]+)"?\\s*$`, 'm').exec(chart)?.[1] ?? 'missing';
  return {
    'package.json': versionOf(manifest),
    'emulator/package.json': versionOf(emulator),
    'package-lock.json': versionOf(lock),
    'Chart.yaml, version': key('version'),
    'Chart.yaml, appVersion': key('appVersion'),
  };
}

/** Returns what keeps this tag from being released, with the fix; empty if nothing does. */
export function releaseProblems(tag: string, files: ReleaseFiles): string[] {
  const version = versionOfTag(tag);
  if (version === undefined) return [`tag ${tag}: must be vMAJOR.MINOR.PATCH, for example v1.2.0`];
  const wrong = Object.entries(versionsIn(files))
    .filter(([, found]) => found !== version)
    .map(([place, found]) => `${place}: ${found} is not ${version}; set it, or tag another version`);
  const section = sectionOf(files.changelog, version);
  if (section === undefined) return [...wrong, `CHANGELOG.md: no section ${version}; add "## ${version} – YYYY-MM-DD"`];
  if (!/^\d{4}-\d{2}-\d{2}$/.test(section.date))
    wrong.push(`CHANGELOG.md: section ${version} has the date "${section.date}"; set it to YYYY-MM-DD`);
  if (section.notes === '') wrong.push(`CHANGELOG.md: section ${version} is empty; describe the changes`);
  return wrong;
}

/** Returns the notes of the version: its section of the changelog, without the heading. */
export function releaseNotes(tag: string, changelog: string): string | undefined {
  const version = versionOfTag(tag);
  return version === undefined ? undefined : sectionOf(changelog, version)?.notes;
}

/** Returns undefined for other tags, also for a pre-release: npm would make it the version that everyone gets. */
function versionOfTag(tag: string): string | undefined {
  return /^v(\d+\.\d+\.\d+)$/.exec(tag)?.[1];
}

function sectionOf(changelog: string, version: string): { readonly date: string; readonly notes: string } | undefined {
  for (const section of changelog.split(/^(?=## )/m)) {
    const [, name, date] = /^## (\S+)(?: – (.*))?$/m.exec(section) ?? [];
    if (section.startsWith('## ') && name === version)
      return { date: date ?? '', notes: section.slice(section.indexOf('\n') + 1).trim() };
  }
  return undefined;
}

function main([step, tag]: readonly string[]): number {
  if (tag === undefined || (step !== 'check' && step !== 'notes')) {
    process.stderr.write(USAGE);
    return 64;
  }
  if (step === 'notes') {
    const notes = releaseNotes(tag, readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'));
    process[notes === undefined ? 'stderr' : 'stdout'].write(`${notes ?? `CHANGELOG.md: no section for ${tag}`}\n`);
    return notes === undefined ? 1 : 0;
  }
  const problems = releaseProblems(tag, releaseFiles());
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  return problems.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
