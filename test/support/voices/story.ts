/** A story of an account in a random order: outage, plans, decisions, pauses, reloads, kills, recovery. */
import { seededRandom } from '#foundation/platform/random.ts';
import { provenRules } from './alterations.ts';
import { ask } from './ask.ts';
import { comparisonsMade, emptyMemory } from './rule.ts';
import { contradictions, type Contradiction } from './rules.ts';
import { PLACES, POLICIES, voicesWorld, type PolicyName } from './world.ts';

type Told = Awaited<ReturnType<typeof begin>>;

async function begin(seed: number) {
  const random = seededRandom(seed);
  return {
    world: await voicesWorld(seed),
    memory: emptyMemory(),
    below: (max: number): number => Math.floor(random() * max),
    /** Steps of the story, in order. */
    steps: [] as string[],
    /** Contradictions that two moments in a row had, each once. */
    found: new Map<string, Contradiction & { readonly after: string }>(),
    /** Rules that found an altered answer. */
    proven: new Set<string>(),
    moments: 0,
  };
}

export async function tellStory(seed: number) {
  const before = comparisonsMade();
  const told = await begin(seed);
  const { world, below } = told;
  await step(told, 'traffic', () => world.pass(20));
  await step(told, 'outage', async () => {
    for (const place of PLACES) {
      if (place !== 'orphan' && place !== 'billing' && below(3) === 0) continue;
      world.set(place, 'down');
      await world.fail(place, 4 + below(8));
    }
    await world.pass(4 + below(12));
  });
  for (const name of shuffled(['plan, apply', 'pause', 'unpause', 'reload', 'kill', 'more failures'], below)) {
    await act(told, name);
  }
  await step(told, 'recovery', async () => {
    for (const place of PLACES) world.set(place, 'up');
    await world.pass(6);
  });
  await act(told, 'unpause');
  await step(told, 'healthy', () => world.pass(20));
  for (const name of shuffled(
    ['approve', 'reject', 'plan', 'plan, apply', 'reload', 'kill', 'another outage'],
    below,
  )) {
    await act(told, name);
  }
  world.set('billing', 'up');
  await step(told, 'healthy', () => world.pass(40));
  await act(told, 'approve');
  const code = await world.stop();
  if (code !== 0) throw new Error(`the daemon ended with ${code}`);
  const { steps, moments, found, proven } = told;
  return { steps, moments, comparisons: comparisonsMade() - before, found: [...found.values()], proven };
}

/** Does something, then asks all voices twice: what one moment alone contradicts may be a step in progress. */
async function step(told: Told, name: string, deed: () => Promise<unknown>): Promise<void> {
  told.steps.push(name);
  await deed();
  const first = await contradictionsNow(told);
  await told.world.pass(1);
  for (const [key, one] of await contradictionsNow(told)) {
    if (first.has(key) && !told.found.has(key)) told.found.set(key, { ...one, after: told.steps.join(', ') });
  }
}

async function contradictionsNow(told: Told): Promise<Map<string, Contradiction>> {
  const { world, memory, proven } = told;
  told.moments += 1;
  const voices = await ask(world);
  const found = contradictions(voices, world, memory);
  for (const rule of provenRules(voices, world, memory, proven)) proven.add(rule);
  return new Map(found.map((one) => [`${one.rule}|${one.subject}`, one]));
}

type Act = (told: Told, policy: PolicyName) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  reload: ({ world }) => world.reload(),
  kill: ({ world, below }) => world.kill(below(4)),
  plan: ({ world }, name) => world.run(['plan', name]),
  'plan, apply': planAndApply,
  approve: (told) => decide(told, 'approve'),
  reject: (told) => decide(told, 'reject'),
  pause: ({ world, below }, name) =>
    world.run(['pause', ...(below(2) === 0 ? [] : ['--policy', name]), '--reason', 'a story']),
  unpause: ({ world }) => world.run(['unpause', '--reason', 'a story', '--yes']),
  async 'more failures'({ world, below }) {
    const down = PLACES.filter((place) => world.isDown(place));
    await world.fail(down[below(down.length)]!, 1 + below(4));
  },
  async 'another outage'({ world, below }) {
    world.set('billing', 'down');
    await world.fail('billing', 1 + below(4));
    await world.pass(5);
  },
};

function act(told: Told, name: string): Promise<void> {
  const { below } = told;
  const names = Object.keys(POLICIES) as PolicyName[];
  const policy = names[below(names.length)]!;
  return step(told, name, async () => {
    await ACTS[name]!(told, policy);
    await told.world.pass(1 + below(6));
  });
}

async function decide({ world, below }: Told, deed: 'approve' | 'reject'): Promise<void> {
  const operator = oneOperator(below);
  const { plans } = await ask(world);
  const pending = plans.filter(({ state }) => state === 'pending');
  const plan = pending[below(Math.max(1, pending.length))];
  if (plan !== undefined) await world.run([deed, plan.id, '--reason', 'a story', '--yes'], operator);
}

async function planAndApply({ world, below }: Told, name: PolicyName): Promise<void> {
  const operator = oneOperator(below);
  const plan = /opsd apply (\S+)/.exec(await world.run(['plan', name, '--keep']))?.[1];
  if (plan !== undefined) await world.run(['apply', plan, '--yes'], operator);
}

/** Returns the operator on the daemon's machine (undefined), or another one. */
function oneOperator(below: Told['below']): 'colleague' | undefined {
  return below(2) === 0 ? undefined : 'colleague';
}

function shuffled(names: readonly string[], below: Told['below']): string[] {
  const rest = [...names];
  return names.map(() => rest.splice(below(rest.length), 1)[0]!);
}
