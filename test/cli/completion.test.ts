/** Completion: its candidates, and the script of each shell as the shell runs it. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, onTestFinished } from 'vitest';
import { ALL_COMMANDS } from '#cli/help.ts';
import { incident, incidents, ledger, RESUME_BILLING, serving, storedPlan, world } from '../operate/http/world.ts';
import { httpSink } from '../support/http-sink.ts';
import { installed, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { opsd, terminal, type TerminalOptions } from './terminal.ts';

/** Candidates for the last word. Nothing may be on stderr, and the exit code is 0. */
async function completed(words: readonly string[], options: TerminalOptions = {}): Promise<readonly string[]> {
  const { code, stdout, stderr } = await opsd(['__complete', ...words], options);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').slice(0, -1);
}

/** Socket of a daemon with accounts, a plan, two policies, and policies with hostile names. */
async function daemon(): Promise<string> {
  const socketPath = join(tempDir(), 's');
  const policies = ['resume-billing', 'resume:eu', 'a b', 'x\u001B[2J', 'line\nbreak', '$(reboot)', '`id`', ';id'];
  const deps = world({
    policies: async () => policies.map((name) => ({ ...RESUME_BILLING, name })),
    ledger: ledger({ storedPlans: async () => [storedPlan()] }),
    accounts: [{ name: 'production' }, { name: 'staging' }],
    incidents: incidents({ all: () => [incident()] }),
  });
  await serving(deps, { socketPath });
  return socketPath;
}

describe('without a daemon', () => {
  test('commands and nouns are completed', async () => {
    const first = new Set(ALL_COMMANDS.map(({ name }) => name.split(' ')[0]));
    expect(new Set(await completed(['']))).toEqual(first);
    expect(await completed(['unp'])).toEqual(['unpause']);
    expect(await completed(['flow-control', ''])).toEqual(['list', 'show']);
    expect(await completed(['help', 'flow-control', 's'])).toEqual(['show']);
    expect(await completed(['help', 'unp'])).toEqual(['unpause']);
  });

  test('options are completed, once each, and their values', async () => {
    expect(await completed(['pause', '--re'])).toEqual(['--reason']);
    expect(await completed(['pause', '--reason', 'x', '--re'])).toEqual([]);
    expect(await completed(['plan', '--set', 'a=1', '--se'])).toEqual(['--set']);
    expect(await completed(['flow-control', 'list', '-o', ''])).toEqual(['table', 'json', 'yaml', 'name', 'wide']);
    expect(await completed(['pause', '--output', 'j'])).toEqual(['json']);
    expect(await completed(['run', '--config', ''])).toEqual([]);
    expect(await completed(['completion', ''])).toEqual(['bash', 'zsh', 'fish']);
    expect(await completed(['audit', ''])).toEqual(['verify']);
  });

  test.each([
    [['unknown', '']],
    [['plan', '']],
    [['pause', '--policy', '']],
    [['apply', '--socket', '/none', '']],
    [[]],
  ])('%j fails silently', async (words) => {
    const all = words.length === 0 ? ALL_COMMANDS.length : 0;
    expect((await completed(words)).length).toBeLessThanOrEqual(all);
  });
});

describe('with a daemon', () => {
  test.each([
    [['plan', 'resume-b'], ['resume-billing']],
    [
      ['pause', '--policy', ''],
      ['resume-billing', 'resume:eu'],
    ],
    [['apply', ''], ['9f3c2a']],
    [['incidents', 'show', ''], ['i-4711']],
    [['flow-control', 'list', '--account', 'p'], ['production']],
  ])('%j completes the names that it knows', async ([command, ...words], names) => {
    const socket = await daemon();
    const verb = ['flow-control', 'incidents'].includes(command!) ? [words.shift()!] : [];
    expect(await completed([command!, ...verb, '--socket', socket, ...words])).toEqual(names);
  });

  test('a daemon that does not answer in time is left out', async () => {
    const never = await httpSink(() => new Promise(() => undefined));
    const { io, programs } = terminal();
    const { complete } = await import('#cli/complete.ts');
    const done = complete(['plan', '--url', never.url, ''], io, programs);
    await until({ what: 'the request' }, () => never.requests.length > 0);
    await (io.clock as import('#foundation/platform/manual-clock.ts').ManualClock).advance(1_000);
    expect(await done).toBe(0);
  });
});

/**
 * Prints the candidates as each shell finds them, from the script and the typed line: a command, and options of the
 * shell. In bash they begin after the last `:`, so the rest is put before them.
 */
const SHELLS: Readonly<Record<'bash' | 'zsh' | 'fish', readonly string[]>> = {
  bash: [
    `source "$1"; COMP_LINE="$2"; COMP_POINT=\${#COMP_LINE}; _opsd; last="\${COMP_LINE##* }"; head="\${last%"\${last##*:}"}"
     for word in "\${COMPREPLY[@]}"; do echo "$head$word"; done`,
    '-u',
  ],
  zsh: [
    `compdef() {}; _files() {}; compadd() { shift; print -rl -- "$@" }; source "$1"
     words=("\${(@s: :)2}"); CURRENT=$#words; _opsd`,
    '-f',
  ],
  fish: ['source $argv[1]; complete -C $argv[2] | cut -f 1', '--no-config'],
};

describe('opsd completion', () => {
  test.each(['bash', 'zsh', 'fish'])('prints a script for %s that calls the program as it was typed', async (shell) => {
    const { code, stdout } = await opsd(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('__complete');
    expect(stdout).not.toMatch(/\bopsd __complete/);
  });

  describe.each(Object.keys(SHELLS) as (keyof typeof SHELLS)[])('in %s', (shell) => {
    test.skipIf(installed(shell) === undefined).each([
      ['opsd unp', ['unpause']],
      ['opsd completion ', ['bash', 'zsh', 'fish']],
      ['opsd pause --socket SOCKET --policy resume:', ['resume:eu']],
      ['opsd pause --socket SOCKET --policy resume-', ['resume-billing']],
      ['opsd pause --reas', ['--reason']],
      ['opsd xyzzy ', []],
    ])('%j has its candidates', async (typed, candidates) => {
      const folder = tempDir();
      const program = join(folder, 'opsd');
      const main = join(import.meta.dirname, '../../src/opsd.js');
      writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
      chmodSync(program, 0o755);
      const script = join(folder, 'script');
      writeFileSync(script, (await opsd(['completion', shell])).stdout);
      const line = typed.replace('SOCKET', await daemon());
      const [command = '', ...options] = SHELLS[shell];
      const found = start(shell, [...options, '-c', command, ...(shell === 'fish' ? [] : [shell]), script, line], {
        env: { PATH: `${folder}:${process.env['PATH']}`, HOME: folder },
        cwd: tempDir(),
      });
      onTestFinished(() => found.kill('SIGKILL'));
      expect(await found.ended).toMatchObject({ code: 0 });
      expect(found.stderr()).toBe('');
      const words = found.stdout().split('\n');
      expect(words.filter((word) => word !== '').toSorted()).toEqual(candidates.toSorted());
    });
  });
});
