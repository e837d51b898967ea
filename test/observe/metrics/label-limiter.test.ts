import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { createLabelLimiter, type LabelLimiter, type ReadOf } from '#observe/metrics/label-limiter.ts';
import type { LabelStore } from '#observe/aggregation/label-store.ts';
import { matchesGlob } from '#foundation/domain/glob.ts';
import { metricsSettings } from '#observe/metrics/settings.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { createLabelStore } from '#storage/label-store.ts';
import { createTotals } from '#storage/totals.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { NOW } from './world.ts';

const HOUR = 3_600_000;

interface Options {
  readonly labels?: object;
  readonly store?: LabelStore;
  readonly configured?: Readonly<Record<string, readonly string[]>>;
}

function labelStore(): LabelStore {
  const store = memoryStore();
  return createLabelStore(store, createTotals(store));
}

async function limiterOf({ labels = {}, store = labelStore(), configured = {} }: Options = {}) {
  const clock = new ManualClock(NOW);
  const overflowed: string[] = [];
  const evicted: string[] = [];
  const limiter = createLabelLimiter({
    settings: metricsSettings.parse({ labels }).labels,
    store,
    stored: await store.load(),
    clock,
    configured: (account, label) => configured[`${account}/${label}`] ?? [],
    onOverflow: (label) => void overflowed.push(label),
    totalsBy: (label) => (label === 'destination' ? [{ metric: 'msgsvc_messages_created_total', index: 0 }] : []),
    onEvicted: (account, label, value) => void evicted.push(`${account}/${label}/${value}`),
  });
  const admit = (value: string, account = 'a'): string => limiter.admit(account, 'destination', value);
  /** Admits values that are separated by spaces. */
  const all = (values: string, one: (value: string) => string | undefined = (value) => admit(value)): string =>
    values
      .split(' ')
      .map((value) => one(value) ?? '-')
      .join(' ');
  return { limiter, clock, store, overflowed, evicted, admit, all };
}

const three = { destination: { max: 3 } };

describe('places', () => {
  test('go to the first values; the rest is other, each counted once', async () => {
    const { all, overflowed } = await limiterOf({ labels: three });
    expect(all('a b a c d e d a other')).toBe('a b a c other other other a other');
    expect(overflowed).toEqual(['destination', 'destination']);
  });

  test('are overflowed by value, however many arrive and how often', async () => {
    const { admit, overflowed } = await limiterOf({ labels: { destination: { max: 1 } } });
    admit('shown');
    for (let round = 0; round < 2; round += 1) {
      for (let value = 0; value < 12_000; value += 1) admit(`overflowed-${value}.example`);
    }
    expect(overflowed).toHaveLength(12_000);
  });

  test('are separate for each account and each label', async () => {
    const { limiter, admit, all } = await limiterOf({ labels: { ...three, workflow: { max: 1 } } });
    all('a b c d', (value) => admit(value, 'noisy'));
    expect(all('w x y z', (value) => admit(value, 'quiet'))).toBe('w x y other');
    expect(limiter.admit('noisy', 'workflow', 'https://w.example/a')).toBe('w.example/a');
    const policies = new Set(Array.from({ length: 50 }, (_, index) => limiter.admit('noisy', 'policy', `p${index}`)));
    expect(policies.size).toBe(50);
  });

  test('go to the names of the configuration before all others, as written there', async () => {
    const { limiter, all } = await limiterOf({
      labels: { flowControlKey: { max: 3, first: ['vip'] } },
      configured: { 'a/flow_control_key': ['tenant:12345'] },
    });
    const admit = (value: string): string => limiter.admit('a', 'flow_control_key', value);
    expect(all('x y vip tenant:12345 tenant:54321 z', admit)).toBe('x other vip tenant:12345 other other');
    expect(limiter.use()).toMatchObject([{ label: 'flow_control_key', max: 3, shown: 3, configured: 2 }]);
  });

  test('are assigned by the rules: deny precedes first, first precedes allow', async () => {
    const { all } = await limiterOf({
      labels: {
        destination: { max: 9, allow: ['*.shop.example', 'eu-?.example'], deny: ['test.*'], first: ['x', 'test.y'] },
      },
    });
    const admitted = all('a.shop.example test.shop.example eu-1.example eu-10.example x test.y z');
    expect(admitted).toBe('a.shop.example other eu-1.example other x other other');
  });

  test('are not for the daemon’s own stamps', async () => {
    const { limiter } = await limiterOf();
    expect(limiter.admit('a', 'flow_control_key', 'opsd:instance:lineage:1')).toBe('other');
  });

  test('never exceed the limit; a value with a place keeps it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string()), fc.integer({ min: 1, max: 5 }), async (values, max) => {
        const { admit, overflowed } = await limiterOf({ labels: { destination: { max } } });
        const first = values.map((value) => admit(value));
        expect(values.map((value) => admit(value))).toEqual(first);
        expect(new Set(first.filter((value) => value !== 'other' && value !== '')).size).toBeLessThanOrEqual(max);
        expect(overflowed.length).toBeLessThanOrEqual(new Set(values).size);
      }),
    );
  });
});

describe('a restart', () => {
  test('does not reassign places', async () => {
    const { limiter, all, store } = await limiterOf({ labels: three });
    all('c a b d');
    await limiter.tidy(never);
    const later = await limiterOf({ labels: three, store });
    expect(later.all('d b c a')).toBe('other b c a');
  });

  test('after a crash assigns places first to values in the totals of the store', async () => {
    const { all, store } = await limiterOf({ labels: three });
    all('a b');
    // Killed before any write. The totals of `a` and `b` are committed.
    const later = await limiterOf({ labels: { destination: { max: 2 } }, store });
    expect(later.all('a b', (value) => later.limiter.keep('a', 'destination', value))).toBe('a b');
    expect(later.all('c a')).toBe('other a');
  });

  test('with a lower cap or another rule hides the last of the old values, and never shows them under other', async () => {
    const { limiter, all, store } = await limiterOf({ labels: three });
    all('a b c');
    await limiter.tidy(never);
    const lower = await limiterOf({ labels: { destination: { max: 2, deny: ['a'] } }, store });
    const keep = (value: string) => lower.limiter.keep('a', 'destination', value);
    expect(lower.all('a b c d', keep)).toBe('- b c -');
    expect(lower.admit('a')).toBe('other');
    expect(lower.limiter.use()).toMatchObject([{ shown: 2, hidden: 2 }]);
    await lower.limiter.tidy(never);
    const raised = await limiterOf({ labels: three, store });
    expect(raised.all('a b c d')).toBe('a b c other');
  });

  test('any sequence of values and restarts: no value changes between its name and other except by a crash', async () => {
    const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constant('!restart')), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const store = labelStore();
        const said = new Map<string, string>();
        let current = await limiterOf({ labels: three, store });
        for (const step of all) {
          if (step === '!restart') {
            await current.limiter.tidy(never);
            current = await limiterOf({ labels: three, store });
            continue;
          }
          const label = current.admit(step);
          expect(said.get(step) ?? label).toBe(label);
          said.set(step, label);
        }
      }),
    );
  });
});

/** Collectors that do not run. */
const never: ReadOf = () => ({ lastSuccesses: [], intervalMs: 0 });

/** Lets hours pass, each with one read of the given values. */
async function hours(
  world: { readonly limiter: LabelLimiter; readonly clock: ManualClock },
  count: number,
  options: { readonly seen?: readonly string[]; readonly isRead?: boolean; readonly intervalMs?: number } = {},
): Promise<void> {
  const { seen = [], isRead = true, intervalMs = 30_000 } = options;
  let read = world.clock.now();
  for (let hour = 0; hour < count; hour += 1) {
    await world.clock.advance(HOUR);
    for (const value of seen) world.limiter.admit('a', 'destination', value);
    if (isRead) read = world.clock.now();
    await world.limiter.tidy(() => ({ lastSuccesses: [read], intervalMs }));
  }
}

describe('idle values', () => {
  test('lose their place after seven days without being seen; the next new value gets it', async () => {
    const world = await limiterOf({ labels: { destination: { max: 2 } } });
    world.all('a b c');
    await hours(world, 1, { seen: ['b'] });
    await hours(world, 167, { seen: ['b'] });
    expect(world.evicted).toEqual([]);
    const evict = vi.spyOn(world.store, 'evict');
    await hours(world, 1, { seen: ['b'] });
    expect(world.evicted).toEqual(['a/destination/a']);
    const totals = [{ metric: 'msgsvc_messages_created_total', index: 0 }];
    expect(evict.mock.calls.map(([account, values]) => [account, values])).toEqual([
      ['a', [{ label: 'destination', value: 'a', totals }]],
    ]);
    expect(world.all('c a b')).toBe('c other b');
  });

  test('do not become idle without reads: an outage of weeks evicts nothing', async () => {
    const world = await limiterOf({ labels: three });
    world.admit('a');
    await hours(world, 1);
    await hours(world, 1_000, { isRead: false });
    await hours(world, 1);
    expect(world.evicted).toEqual([]);
  });

  test('keep their idle time over a restart', async () => {
    const first = await limiterOf({ labels: three });
    first.admit('a');
    await hours(first, 100);
    const second = await limiterOf({ labels: three, store: first.store });
    expect(second.limiter.keep('a', 'destination', 'a')).toBe('a');
    await hours(second, 67);
    expect(second.evicted).toEqual([]);
    await hours(second, 4);
    expect(second.evicted).toEqual(['a/destination/a']);
  });

  test('keep their place when the configuration names them, or when no read could see them', async () => {
    const world = await limiterOf({ labels: { destination: { first: ['named'] } } });
    world.admit('named');
    world.limiter.admit('a', 'code', '503');
    await hours(world, 500);
    expect(world.evicted).toEqual([]);
  });

  test('stay when the store cannot be written, and go when it can again', async () => {
    const world = await limiterOf({ labels: three });
    world.admit('a');
    await hours(world, 168);
    const failing = vi.spyOn(world.store, 'evict').mockRejectedValue(new Error('disk full'));
    await expect(hours(world, 1)).rejects.toThrow('disk full');
    expect(world.evicted).toEqual([]);
    expect(world.admit('a')).toBe('a');
    failing.mockRestore();
    await hours(world, 1);
    expect(world.evicted).toEqual([]);
    await hours(world, 168);
    expect(world.evicted).toEqual(['a/destination/a']);
  });

  test('that are hidden go too, and are new when they return', async () => {
    const { limiter, all, store } = await limiterOf({ labels: three });
    all('a b');
    await limiter.tidy(never);
    const world = await limiterOf({ labels: { destination: { max: 1 } }, store });
    await hours(world, 1, { seen: ['a', 'b'] });
    await hours(world, 168, { seen: ['a', 'b'] });
    expect(world.evicted).toEqual(['a/destination/b']);
    expect(world.admit('b')).toBe('other');
  });
});

test('overflowed values are reported with their counts, in bounded memory', async () => {
  const { limiter } = await limiterOf({ labels: { destination: { max: 1 } } });
  limiter.admit('a', 'destination', 'shown', 1_000);
  for (let index = 0; index < 5_000; index += 1) limiter.admit('a', 'destination', `rare-${index % 900}.example`, 1);
  limiter.admit('a', 'destination', 'big.example', 400);
  limiter.admit('a', 'destination', 'bigger.example', 300);
  limiter.admit('a', 'destination', 'bigger.example', 300);
  const [use] = limiter.use();
  expect(use).toMatchObject({ account: 'a', label: 'destination', max: 1, shown: 1, overflowAmount: 6_000 });
  const named = use!.largestOverflow.filter(({ value }) => value.startsWith('big'));
  expect(named.map(({ value }) => value)).toEqual(['bigger.example', 'big.example']);
  expect(named[0]!.count - named[0]!.over).toBe(600);
  expect(use!.largestOverflow).toHaveLength(10);
});

test('a glob equals its regular expression', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 8 });
  fc.assert(
    fc.property(glob, text, (pattern, value) => {
      const source = pattern
        .replaceAll('.', String.raw`\.`)
        .replaceAll('*', '.*')
        .replaceAll('?', '.');
      expect(matchesGlob(pattern, value)).toBe(new RegExp(`^${source}$`).test(value));
    }),
    { numRuns: 2_000 },
  );
});
