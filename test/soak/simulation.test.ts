/** Many histories of the simulation from a new seed (SEED), and all mutants. */
import { expect, test } from 'vitest';
import { MUTANTS } from '../simulation/mutants.ts';
import { simulate } from '../support/simulate.ts';

const HISTORIES = Number(process.env['HISTORIES'] ?? 1_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));

test(`${HISTORIES} histories from seed ${SEED}`, { timeout: 86_400_000 }, async () => {
  const { code, stdout } = await simulate(`--seed ${SEED} --histories ${HISTORIES}`);
  expect(code, stdout).toBe(0);
});

test.each(Object.entries(MUTANTS))(
  'mutant %s dies',
  { timeout: 3_600_000 },
  async (name, { within, minutes = 90, worse, store }) => {
    const [seed, histories] = store === 'postgres' || worse !== undefined ? [within, 1] : [1, within];
    const args = ['--seed', seed, '--histories', histories, '--minutes', minutes, '--mutant', name];
    const factors = Object.entries(worse ?? {}).flatMap(([kind, factor]) => ['--worse', `${kind}=${factor}`]);
    const { code, stdout } = await simulate([...args, ...factors].map(String));
    expect(code, stdout).toBe(1);
  },
);
