/** Writes the generated parts of the documentation between their markers, `<!-- NAME -->` and `<!-- end -->`: `npm run docs`. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATED } from './generated.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Pages of the documentation, except runbooks, by their paths in the project. */
export const PAGES = globSync('docs/{,tutorials/}*.md', { cwd: ROOT }).toSorted();

/** Matches the text between two markers, and the name. */
export const MARKED = /(?<=^<!-- (?!end )([\w-]+) -->\n).*?(?=^<!-- end -->$)/gms;

/** Returns the page with its generated parts as they are now. A name that is not generated here stays. */
export async function rendered(page: string): Promise<string> {
  const names = [...page.matchAll(MARKED)].map((match) => match[1]!);
  const texts = new Map(await Promise.all(names.map(async (name) => [name, await GENERATED[name]?.()] as const)));
  return page.replaceAll(MARKED, (text, name: string) => {
    const generated = texts.get(name);
    return generated === undefined ? text : `\n${generated.trim()}\n\n`;
  });
}

if (import.meta.main) {
  for (const path of PAGES.map((page) => join(ROOT, page))) {
    writeFileSync(path, await rendered(readFileSync(path, 'utf8')));
  }
}
