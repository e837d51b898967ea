/** The packages in the bundle, with the texts of their licenses. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface ThirdParty {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
  /** Texts of the package's license and notice files. */
  readonly texts: readonly string[];
}

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/i;

/**
 * Returns each package once, by name and version.
 *
 * @param files absolute paths in `node_modules`
 * @throws {Error} for a package without a license or its text
 */
export function thirdPartiesOf(files: readonly string[]): readonly ThirdParty[] {
  const folders = new Set(files.map((path) => PACKAGE.exec(path)![0]));
  const found = [...folders].map(thirdParty);
  const unique = new Map(found.map((party) => [`${party.name}@${party.version}`, party]));
  return [...unique].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, party]) => party);
}

function thirdParty(folder: string): ThirdParty {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as ThirdParty;
  const { name, version, license } = manifest;
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && LICENSE_FILE.test(file.name))
    .map((file) => file.name)
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  if (texts.length === 0) texts.push(...licenseSections(join(folder, 'README.md')));
  if (typeof license !== 'string' || texts.length === 0) {
    throw new Error(`the package ${name} has no license or no license file: ${folder}`);
  }
  return { name, version, license, texts };
}

/** Returns the section of a README with the text of the license, which some packages have in place of a file. */
function licenseSections(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  const sections = readFileSync(path, 'utf8').split(/^#+ /m);
  return sections.filter((section) => /^licen[cs]e\s+.*copyright/is.test(section)).map((section) => section.trim());
}

/** Returns the file of all licenses. Packages with the same texts share one section. */
export function licensesText(parties: readonly ThirdParty[]): string {
  const sections = Map.groupBy(parties, ({ texts }) => texts.join('\n\n'));
  const written = [...sections].map(([text, sharing]) => {
    const names = sharing.map(({ name, version, license }) => `${name} ${version} (${license})`);
    return `${names.join('\n')}\n\n${text}\n`;
  });
  return ['This program contains the following packages.\n', ...written].join(`\n${'-'.repeat(80)}\n\n`);
}
