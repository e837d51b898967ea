/** Compares the help with the commands. A mistyped name gets a suggestion. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS, NOUNS } from '#cli/index.ts';
import { optionsOf, parseArguments } from '#cli/arguments.ts';
import { DAEMON_OPTIONS } from '#cli/daemon-option.ts';
import { ALL_COMMANDS, namedCommand } from '#cli/help.ts';
import { shellWords } from './shell-words.ts';
import { PLAN_LIMITS } from '#emulator/state/limits.ts';
import { opsd } from './terminal.ts';

describe('help', () => {
  test('names every command and verb once, by what someone wants to do', async () => {
    const { code, stdout, stderr } = await opsd(['help']);
    expect([code, stderr]).toEqual([0, '']);
    const rows = stdout.replaceAll(/\n {4,}/g, ' ').matchAll(/^ {2}([\w-]+) +(.*)\.$/gm);
    const named = [...rows].flatMap(([, word, text]) => {
      const verbs = /: ((?:[\w-]+, )*[\w-]+)$/.exec(text!)?.[1]?.split(', ') ?? [];
      const twoWords = verbs.map((verb) => `${word} ${verb}`);
      return twoWords.some((name) => ALL_COMMANDS.some((one) => one.name === name)) ? twoWords : [word!, ...twoWords];
    });
    const all = await Promise.all(ALL_COMMANDS.map(({ load }) => load()));
    const expected = all.flatMap(({ name, operands }) => {
      const verbs = typeof operands?.names === 'object' ? operands.names.map((verb) => `${name} ${verb}`) : [];
      return NOUNS[name] === undefined ? [name, ...verbs] : verbs;
    });
    expect(named.toSorted()).toEqual(expected.toSorted());
  });

  test('each name of the table is that of the command', async () => {
    for (const { name, load } of ALL_COMMANDS) expect((await load()).name).toBe(name);
  });

  test('--url is the address of the daemon in every command that has it', async () => {
    const others: string[] = [];
    for (const { name, load } of ALL_COMMANDS) {
      const { url = DAEMON_OPTIONS.url } = (await load()).options;
      if (url !== DAEMON_OPTIONS.url) others.push(name);
    }
    // The page about a deploy.
    expect(others).toEqual(['deploy']);
  });

  test('--destination is a URL in every command that has it', async () => {
    const places: string[] = [];
    for (const { name, load } of ALL_COMMANDS) {
      const { destination } = (await load()).options;
      if (destination !== undefined) places.push(`${name} ${destination.value}`);
    }
    expect(places).toEqual(
      ['dlq list', 'messages list', 'dlq republish', 'dlq delete', 'dlq prune'].map((name) => `${name} URL`),
    );
  });

  test('every file of a command is in the table', () => {
    const folder = join(import.meta.dirname, '../../src/cli/commands');
    const declared = readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .flatMap((text) => [...text.matchAll(/: Command = \{\n {2}name: '([\w -]+)'/g)].map((match) => match[1]!));
    expect(declared.length).toBeGreaterThan(20);
    expect(COMMANDS.map((command) => command.name)).toEqual(expect.arrayContaining(declared));
  });

  test.each(ALL_COMMANDS.map((command) => [command.name, command] as const))(
    'of %s names every option',
    async (name, { load }) => {
      const command = await load();
      const byHelp = await opsd(['help', ...name.split(' ')]);
      const byOption = await opsd([...name.split(' '), '--help']);
      expect(byHelp).toEqual(byOption);
      expect(byHelp.code).toBe(0);
      const named = [...byHelp.stdout.matchAll(/^ {2}(?:-\w, | {4})--([\w-]+)/gm)].map((match) => match[1]);
      expect(named).toEqual(Object.keys(optionsOf(command)));
      expect(byHelp.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test.each(ALL_COMMANDS.map((command) => [command.name, command] as const))(
    'of %s ends with examples that the command accepts',
    async (name, { load }) => {
      const { examples } = await load();
      const { stdout } = await opsd(['help', ...name.split(' ')]);
      expect(stdout).toMatch(new RegExp(`\\nExamples:\\n(?: {2}.*opsd ${name}.*\\n){${examples.length}}$`));
      for (const example of examples) {
        const words = shellWords(example);
        const { command, args } = await namedCommand(words.slice(words.indexOf('opsd') + 1));
        expect(command?.name, example).toBe(name);
        expect(() => parseArguments(command!, args), example).not.toThrow();
      }
    },
  );

  test('each noun has a line, and lists its verbs', async () => {
    const nouns = COMMANDS.filter(({ name }) => name.includes(' ')).map(({ name }) => name.split(' ')[0]!);
    for (const noun of new Set(nouns)) {
      expect(NOUNS, noun).toHaveProperty(noun);
      const verbs = COMMANDS.filter(({ name }) => name.startsWith(`${noun} `)).map(({ name }) => name);
      const { code, stdout } = await opsd([noun, '--help']);
      expect(code).toBe(0);
      expect(stdout).toEqual((await opsd(['help', noun])).stdout);
      for (const verb of verbs) expect(stdout).toContain(`\n  ${verb} `);
    }
  });

  test('and errors cite only pages that exist', () => {
    const root = join(import.meta.dirname, '../..');
    const cited = globSync('src/**/*.ts', { cwd: root }).flatMap((file) => [
      ...readFileSync(join(root, file), 'utf8').matchAll(/docs\/[\w/-]+\.md/g),
    ]);
    expect(cited.length).toBeGreaterThan(8);
    expect(cited.map(([page]) => page).filter((page) => !existsSync(join(root, page)))).toEqual([]);
  });

  test('of emulator names every plan that it accepts', async () => {
    const { stdout } = await opsd(['help', 'emulator']);
    const told = /--plan NAME\s+Plan: ([^;]+);/.exec(stdout)![1]!;
    expect(told.split(/,\s+/)).toEqual(Object.keys(PLAN_LIMITS));
  });

  test('has the usual aliases', async () => {
    const { stdout } = await opsd(['help']);
    expect(await opsd(['--help'])).toMatchObject({ code: 0, stdout });
    expect(await opsd(['-h'])).toMatchObject({ code: 0, stdout });
    expect(await opsd(['help', '--help'])).toMatchObject({ code: 0 });
  });

  test('a noun alone is incomplete: its verbs go to stderr, as a usage error', async () => {
    const { stdout } = await opsd(['account', '--help']);
    expect(stdout).toContain('\n  account stats          Read the statistics of an account.\n');
    expect(await opsd(['account'])).toEqual({ code: 64, stdout: '', stderr: stdout });
  });
});
