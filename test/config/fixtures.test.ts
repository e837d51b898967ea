/** Every kind of invalid configuration, named after its error, with the message that users see. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatProblems, loadConfig, type ConfigProblem } from '#config/load.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/config');
const ENV = { SET_WORD: 'hunter2', SET_NUMBER: '31337', SET_LEVEL: 'info', SET_ZERO: '0' };
/** Secrets of the fixtures and the environment, which must not appear. */
const SECRETS = ['s3cr3t', 'hunter2', '31337', '123456', 'not-really'];

const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.slice(0, -'.yaml'.length));

function told(name: string): { readonly problems: readonly ConfigProblem[]; readonly text: string } {
  const result = loadConfig(join(FOLDER, `${name}.yaml`), { env: ENV });
  const problems = (result.ok ? result.warnings : result.problems).map((problem) => ({
    ...problem,
    // Path as shown to a user in that folder.
    file: problem.file.replace(`${FOLDER}/`, ''),
    message: problem.message.replace(`${FOLDER}/`, ''),
  }));
  return { problems, text: formatProblems(problems) };
}

describe('invalid configurations', () => {
  test('there are many kinds', () => {
    expect(names.length).toBeGreaterThan(60);
    const texts = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));
    expect(texts.map((name) => name.slice(0, -'.txt'.length))).toEqual(names);
  });

  test.each(names)('%s', async (name) => {
    const { problems, text } = told(name);
    expect(problems).not.toEqual([]);
    for (const secret of SECRETS) expect(text).not.toContain(secret);
    await expect(`${text}\n`).toMatchFileSnapshot(join(FOLDER, `${name}.txt`));
  });

  test.each(names)('%s is marked at its place', (name) => {
    for (const problem of told(name).problems) {
      const lines = readFileSync(join(FOLDER, problem.file), 'utf8').split('\n');
      const line = lines[problem.line - 1];
      expect(line).toBeDefined();
      expect(problem.column).toBeGreaterThan(0);
      expect(problem.column).toBeLessThanOrEqual(line!.length + 1);
      const key = /[\w-]+$/.exec(problem.path)?.[0];
      // An unknown key is marked at the key.
      if (problem.message === 'unknown key' && key !== undefined)
        expect(line!.slice(problem.column - 1)).toMatch(new RegExp(`^${key}`));
    }
  });
});
