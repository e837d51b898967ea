/** Many histories from a new seed (SEED), most of them with worse faults; long ones that once failed; all mutants. */
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '#foundation/platform/random.ts';
import { MUTANTS } from '../simulation/mutants.ts';
import { Player } from '../simulation/player.ts';
import { LONG_SEEDS } from '../simulation/seeds.ts';
import { simulate } from '../support/simulate.ts';

const HISTORIES = Number(process.env['HISTORIES'] ?? 1_000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
/** Histories with the same faults. */
const ROUND = 20;

/** Faults of both stores, with factors. Three of them are worse in each round, except in every fourth one. */
const WORSE = [
  'alert=8',
  'clock step=8',
  'connection hangs=4',
  'connection refused=4',
  'crash at a step=4',
  'crash=8',
  'deploy=8',
  'late entry=100',
  'manual plan=8',
  'name unknown=4',
  'note=8',
  'pause=8',
  'receiver down=4',
  'receiver outage=8',
  'reload=8',
  'response cut=4',
  'service clock step=8',
  'slow=4',
  'storm=8',
];

const rounds = Array.from({ length: Math.ceil(HISTORIES / ROUND) }, (_, index) => {
  const random = seededRandom(SEED + index);
  const three = [0, 1, 2].map(() => WORSE[Math.floor(random() * WORSE.length)]!);
  const range = ['--seed', SEED + index * ROUND, '--histories', Math.min(ROUND, HISTORIES - index * ROUND)];
  return [...range, ...worseBy(index % 4 === 0 ? [] : new Set(three))].map(String);
});

function worseBy(factors: Iterable<string>): readonly string[] {
  return [...factors].flatMap((factor) => ['--worse', factor]);
}

test.each(rounds.map((args) => [args.join(' '), args] as const))('%s', { timeout: 86_400_000 }, async (_, args) => {
  const { code, stdout } = await simulate(args);
  expect(code, stdout).toBe(0);
});

test.each(LONG_SEEDS.map((order) => [JSON.stringify(order), order] as const))(
  '%s holds',
  { timeout: 3_600_000 },
  async (_, order) => {
    const player = new Player();
    onTestFinished(() => player.end());
    expect((await player.run(order)).failure).toBeUndefined();
  },
);

test.each(Object.entries(MUTANTS))(
  'mutant %s dies',
  { timeout: 3_600_000 },
  async (name, { within, minutes = 90, worse, store, hasRest = true }) => {
    const [seed, histories] = store === 'postgres' || worse !== undefined ? [within, 1] : [1, within];
    const args = ['--seed', seed, '--histories', histories, '--minutes', minutes, '--mutant', name];
    const factors = Object.entries(worse ?? {}).map(([kind, factor]) => `${kind}=${factor}`);
    const rest = hasRest ? [] : ['--no-rest'];
    const { code, stdout } = await simulate([...args.map(String), ...rest, ...worseBy(factors)]);
    expect(code, stdout).toBe(1);
  },
);
