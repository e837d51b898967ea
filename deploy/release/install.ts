/**
 * How the documentation installs the npm package. Until it is published, its name has no owner, and whoever takes it
 * would own the machine of each reader: pages build it from a clone. All texts that change with the first release are here,
 * and in pages between `<!-- install: NAME -->` and `<!-- /install -->`.
 *
 *   node deploy/release/install.ts published|clone [FOLDER]   writes one form into all pages of the folder
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const USAGE = 'usage: node deploy/release/install.ts published|clone [FOLDER]\n';
/** Pages that can install the package. */
const PAGES = ['*.md', 'docs/*.md', 'docs/tutorials/*.md', 'emulator/*.md'];
const CLONE = 'git clone https://msgsvc-opsd.example/msgsvc-opsd.git';

export type Form = 'clone' | 'published';
type Texts = Readonly<Record<Form, string>>;

const shell = (...lines: readonly string[]): string => ['```sh', ...lines, '```'].join('\n');
const bare = (...lines: readonly string[]): string => ['```', ...lines, '```'].join('\n');
const WARNING =
  'The npm package is not published yet, and anyone could take its name: never install it by its name. Build it from a\nclone instead.';

/** Installation into the folder of a project. */
function inFolder(save: string): Texts {
  return {
    clone: `${WARNING} You need git and npm:

<!-- not run: it clones the project -->

${shell(CLONE, '(cd msgsvc-opsd && npm ci && npm pack)', 'mkdir my-project && cd my-project')}

${shell(`npm install ${save}../msgsvc-opsd/msgsvc-opsd-*.tgz`)}`,
    published: `Create an empty folder, and install the package:\n\n${shell(`npm install ${save}msgsvc-opsd`)}`,
  };
}

export const TEXTS: Readonly<Record<string, Texts>> = {
  try: {
    clone: `The npm package is not published yet, so this starts from a clone:\n\n${bare(
      `${CLONE} && cd msgsvc-opsd`,
      'npm ci && npm start   # open the address that it prints',
    )}`,
    published: bare(
      'npx msgsvc-opsd demo   # open the address that it prints',
      'npm ci && npm start    # the same, in a clone',
    ),
  },
  folder: inFolder(''),
  tests: inFolder('--save-dev '),
  machine: {
    clone: `${WARNING}\n\n${shell(CLONE, 'cd msgsvc-opsd && npm ci && npm pack', 'npm install --global ./msgsvc-opsd-*.tgz')}`,
    published: shell('npm install --global msgsvc-opsd'),
  },
};

const MARKED = /^<!-- install: (\w+) -->\n\n(.*?)\n\n<!-- \/install -->$/gms;

/** Returns the page with all marked texts in one form. @throws {Error} for a name without a text */
export function inForm(page: string, form: Form): string {
  return page.replaceAll(MARKED, (_all, name: string) => {
    const texts = TEXTS[name];
    if (texts === undefined) throw new Error(`unknown text: <!-- install: ${name} -->`);
    return `<!-- install: ${name} -->\n\n${texts[form]}\n\n<!-- /install -->`;
  });
}

/** Pages below a folder. */
export function pagesIn(folder: string): string[] {
  return globSync(PAGES, { cwd: folder }).toSorted();
}

function main([form, folder = ROOT]: readonly string[]): number {
  if (form !== 'published' && form !== 'clone') {
    process.stderr.write(USAGE);
    return 64;
  }
  for (const page of pagesIn(folder)) {
    const path = join(folder, page);
    const text = readFileSync(path, 'utf8');
    const changed = inForm(text, form);
    if (changed !== text) writeFileSync(path, changed);
  }
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
