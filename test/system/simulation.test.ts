/** Some histories of the whole daemon under one seed each. `npm run simulate` runs any number of them. */
import { expect, onTestFinished, test } from 'vitest';
import { MUTANTS } from '../simulation/mutants.ts';
import { Player } from '../simulation/player.ts';
import { SEEDS } from '../simulation/seeds.ts';
import { simulate } from '../support/simulate.ts';

/** Those with replicas take minutes each on a busy machine. */
const LONGEST_MS = 1_800_000;

test(
  'equal seeds give equal histories with both stores, in one process or in two, and all invariants hold',
  { timeout: LONGEST_MS },
  async () => {
    const [one, two] = await Promise.all(
      [1, 2].map((jobs) => simulate(`--seed 11 --histories 2 --minutes 5 --no-rest --jobs ${jobs}`)),
    );
    expect(one).toMatchObject({ code: 0 });
    expect(one!.last).toMatch(/^2 histories, [1-9]\d* steps, hash [0-9a-f]{16}$/);
    expect(two!.last).toBe(one!.last);
  },
);

test('the seeds that once failed hold', { timeout: LONGEST_MS }, async () => {
  // One process for all of them: its start costs as much as a history.
  const player = new Player();
  onTestFinished(() => player.end());
  for (const order of SEEDS) {
    const { failure } = await player.run(order);
    expect(failure, `seed ${order.seed}`).toBeUndefined();
  }
});

test('a mutant dies, and its history is named', async () => {
  const { code, stdout } = await simulate('--mutant intent-after-effect --histories 1 --minutes 30');
  expect(stdout).toMatch(/^seed 1 failed at step \d+: no effect without a durable intent$/m);
  expect(code).toBe(1);
});

test('the arguments are checked', async () => {
  expect(await simulate('--histories 0')).toMatchObject({ code: 2 });
  expect(await simulate('--worse crash=0')).toMatchObject({ code: 2 });
  const unknown = await simulate('--seed 1 --histories 1 --minutes 1 --no-rest --worse crush=5');
  expect(unknown.stdout).toBe('no history has the fault crush\n');
  expect(unknown.code).toBe(2);
  const { code, stdout } = await simulate('--mutant none');
  expect(stdout).toContain(`unknown mutant none; there are: ${Object.keys(MUTANTS).join(', ')}`);
  expect(code).toBe(2);
});
