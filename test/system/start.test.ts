/**
 * Modules that commands load, and the daemon before its first scrape. Each of them costs time and memory at every start:
 * a new one belongs behind an `import()` where it is used.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf } from '../support/daemon-world.ts';
import { opsdFromSources } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const HOOK = join(import.meta.dirname, '../support/programs/loaded-modules.mjs');

const ROOMS_OF_A_CLIENT = ['cli', 'cli/commands', 'config', 'foundation/domain', 'foundation/platform', 'operate/show'];
/** Rooms and packages that a daemon without hooks, pages and traces does not use before its first scrape. */
const UNUSED =
  /^(?:emulator|automate\/policytest|operate\/(?:hooks|pages|contract|deploys)|cli\/commands\/\w+-text\.ts)\b/;
const UNUSED_PACKAGES = [
  '@opentelemetry/sdk-node',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  'bcryptjs',
  'undici',
];

function traced(file: string): Record<string, string> {
  writeFileSync(file, '');
  return { LOADED: file, NODE_OPTIONS: `--import=${encodeURI(`file://${HOOK}`)}` };
}

/** Returns the files of the program, relative to `src`, and the packages, without Node's own modules. */
function loadedIn(file: string): { readonly files: readonly string[]; readonly packages: readonly string[] } {
  const urls = readFileSync(file, 'utf8').trim().split('\n').map(decodeURI);
  const files = urls.flatMap((url) => /\/(?:src\/|(?=emulator\/src\/))(?!.*node_modules)(.+)$/.exec(url)?.[1] ?? []);
  const packages = urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return { files: [...new Set(files)].toSorted(), packages: [...new Set(packages)].toSorted() };
}

function roomsOf(files: readonly string[]): readonly string[] {
  return [...new Set(files.map((file) => file.replace(/\/?[^/]*$/, '')))].filter((room) => room !== '').toSorted();
}

test('opsd version loads the table of commands, itself, and no package', async () => {
  const file = join(tempDir(), 'loaded');
  const program = opsdFromSources(['version'], { env: traced(file) });
  expect(await program.ended).toMatchObject({ code: 0 });
  const { files, packages } = loadedIn(file);
  expect(packages).toEqual([]);
  expect(files.filter((name) => name.startsWith('cli/commands/'))).toEqual(['cli/commands/version.ts']);
  expect(roomsOf(files)).toEqual(ROOMS_OF_A_CLIENT.filter((room) => room !== 'config' && room !== 'operate/show'));
  expect(files.length).toBeLessThan(20);
});

test('a daemon loads no pages, hooks, or emulator before its first scrape, and a client of it no schemas', async () => {
  const folder = tempDir();
  const config = join(folder, 'opsd.yaml');
  const account = '{ name: shop, url: "http://127.0.0.1:9", token: secret }';
  writeFileSync(
    config,
    `server: { listen: "127.0.0.1:0" }\nstorage: { sqlite: { path: opsd.db } }\naccounts: [${account}]\n`,
  );
  const ofDaemon = join(folder, 'of-daemon');
  const daemon = opsdFromSources(['run', '--config', config], { env: traced(ofDaemon) });
  const scraped = await fetch(`${await addressOf(daemon)}/metrics`);
  expect(scraped.status).toBe(200);
  const beforeScrape = loadedIn(ofDaemon);
  expect(beforeScrape.files).toContain('operate/server.ts');
  expect(beforeScrape.files.filter((name) => UNUSED.test(name) || name === 'operate/routes.ts')).toEqual([]);
  expect(beforeScrape.files.filter((name) => name.startsWith('cli/commands/'))).toEqual(['cli/commands/run.ts']);
  expect(beforeScrape.packages.filter((name) => UNUSED_PACKAGES.includes(name))).toEqual([]);
  // The schemas of a start are those of zod/mini.
  const schemas = readFileSync(ofDaemon, 'utf8')
    .split('\n')
    .filter((url) => /\/zod\/v4\/\w+\/external\./.test(url));
  expect(schemas).toEqual([expect.stringContaining('/mini/')]);

  const ofClient = join(folder, 'of-client');
  const client = opsdFromSources(['plan', '--config', config], { env: traced(ofClient) });
  expect(await client.ended, client.stderr()).toMatchObject({ code: 0 });
  const { files, packages } = loadedIn(ofClient);
  expect(packages).toEqual(['yaml']);
  expect(roomsOf(files)).toEqual(ROOMS_OF_A_CLIENT);
  expect(files.filter((name) => name.startsWith('cli/commands/'))).toEqual(['cli/commands/plan.ts']);
  expect(files.length).toBeLessThan(40);
});

test('opsd emulator loads no package before its first delivery', async () => {
  const file = join(tempDir(), 'loaded');
  const emulator = opsdFromSources(['emulator', '--listen', '127.0.0.1:0'], { env: traced(file) });
  await expect.poll(() => emulator.stdout()).toContain('\n');
  const { url } = JSON.parse(emulator.stdout()) as { readonly url: string };
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(loadedIn(file).packages).toEqual([]);
});
