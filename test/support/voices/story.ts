/** A story of an account with random choices: outage, plans, decisions, pauses, reloads, kills, recovery. */
import { seededRandom } from '#foundation/platform/random.ts';
import { ask } from './ask.ts';
import { contradictions, emptyMemory, type Contradiction, type Memory } from './rules.ts';
import { PLACES, POLICIES, voicesWorld, type PolicyName, type VoicesWorld } from './world.ts';

export interface Told {
  readonly seed: number;
  /** Steps of the story, in order. */
  readonly steps: readonly string[];
  readonly moments: number;
  /** Contradictions that two moments in a row had, each once. */
  readonly found: readonly (Contradiction & { readonly after: string })[];
}

export async function tellStory(seed: number): Promise<Told> {
  const world = await voicesWorld({ seed });
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const told: Teller = { world, memory: emptyMemory(), below, steps: [], found: new Map(), moments: 0 };
  await step(told, 'traffic', () => world.pass(20));
  await step(told, 'outage', async () => {
    for (const place of PLACES) {
      if (place !== 'orphan' && below(4) === 0) continue;
      world.set(place, 'down');
      await world.fail(place, 4 + below(8));
    }
    await world.pass(4 + below(12));
  });
  for (let act = 0; act < 4; act++) await oneOf(told);
  await step(told, 'recovery', async () => {
    for (const place of PLACES) world.set(place, 'up');
    await world.pass(6);
  });
  for (let act = 0; act < 3; act++) await oneOf(told);
  await step(told, 'healthy', () => world.pass(40));
  await step(told, 'approve what waits', async () => {
    await decide(told, 'approve');
    await world.pass(30);
  });
  const code = await world.stop();
  if (code !== 0) throw new Error(`the daemon ended with ${code}`);
  return { seed, steps: told.steps, moments: told.moments, found: [...told.found.values()] };
}

interface Teller {
  readonly world: VoicesWorld;
  readonly memory: Memory;
  readonly below: (max: number) => number;
  readonly steps: string[];
  readonly found: Map<string, Contradiction & { readonly after: string }>;
  moments: number;
}

/** Does something, then asks all voices twice: what one moment alone contradicts may be a step in progress. */
async function step(told: Teller, name: string, act: () => Promise<unknown>): Promise<void> {
  told.steps.push(name);
  await act();
  const first = await contradictionsNow(told);
  await told.world.pass(1);
  for (const [key, one] of await contradictionsNow(told)) {
    if (first.has(key) && !told.found.has(key)) told.found.set(key, { ...one, after: told.steps.join(', ') });
  }
}

async function contradictionsNow(told: Teller): Promise<Map<string, Contradiction>> {
  const { world, memory } = told;
  told.moments += 1;
  const found = contradictions(await ask(world), world, memory);
  return new Map(found.map((one) => [`${one.rule}|${one.subject}`, one]));
}

function oneOf(told: Teller): Promise<void> {
  const { world, below } = told;
  const names = Object.keys(POLICIES) as PolicyName[];
  const name = names[below(names.length)]!;
  const acts: Readonly<Record<string, () => Promise<unknown>>> = {
    reload: () => world.reload(),
    kill: () => world.kill(),
    'plan (read only)': () => world.run('plan', name),
    'plan, apply': () => planAndApply(world, name),
    approve: () => decide(told, 'approve'),
    reject: () => decide(told, 'reject'),
    'pause all': () => world.run('pause', '--reason', 'a story'),
    [`pause ${name}`]: () => world.run('pause', '--policy', name, '--reason', 'a story'),
    unpause: () => world.run('unpause', '--reason', 'a story'),
    'more failures': async () => {
      const down = PLACES.filter((place) => world.isDown(place));
      if (down.length > 0) await world.fail(down[below(down.length)]!, 1 + below(4));
    },
    time: () => world.pass(8),
  };
  const chosen = Object.keys(acts)[below(Object.keys(acts).length)]!;
  return step(told, chosen, async () => {
    await acts[chosen]!();
    await world.pass(1 + below(6));
  });
}

async function decide({ world, below }: Teller, act: 'approve' | 'reject'): Promise<void> {
  const { plans } = await ask(world);
  const pending = plans.filter(({ state }) => state === 'pending');
  const plan = pending[below(Math.max(1, pending.length))];
  if (plan !== undefined) await world.run(act, plan.id, '--reason', 'a story', '--yes');
}

async function planAndApply(world: VoicesWorld, name: PolicyName): Promise<void> {
  const { out } = await world.run('plan', name, '--keep');
  const id = /^Plan\s+(\S+)/m.exec(out)?.[1];
  if (id !== undefined) await world.run('apply', id, '--yes');
}
