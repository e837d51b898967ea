/** Grouping of dead letters into incidents, over the real store. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RATE_STEPS } from '#foundation/domain/failure-rate.ts';
import { membersNow, type Incident } from '#foundation/domain/incident.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { IncidentBook, type DeadLetterReading } from '#observe/incidents/incident-book.ts';
import type { IncidentStore } from '#observe/incidents/incident-store.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { LeaseLostError } from '#storage/store-error.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { planted, readingOfDeadLetters, readingOfRuns, run, START } from './planted.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

async function world(most?: number) {
  const store = openMemoryStore('here');
  const real = createIncidentStore(store);
  /** Commits wait for `until`. */
  const held: { until?: Promise<void> } = {};
  /** Accounts that another replica owns. */
  const lost = new Set<string>();
  const incidents: IncidentStore = {
    ...real,
    async commit(commit) {
      if (lost.has(commit.account)) throw new LeaseLostError(commit.account, 1, 2);
      await held.until;
      await real.commit(commit);
    },
  };
  return { db: store.db, store: incidents, held, lost, book: await IncidentBook.open(incidents, most) };
}

async function take<Row>(book: IncidentBook, reading: DeadLetterReading<Row>): Promise<void> {
  for await (const _part of book.take(reading));
}

/** A world with one incident of one run, `a`. */
async function failed() {
  const w = await world();
  await take(w.book, readingOfRuns([run({ dlqId: 'a' })]));
  return w;
}

/** Ids of the members of each incident. */
function groups(book: IncidentBook): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const queue of ['workflow', 'message'] as const) {
    for (const [dlqId, { incident }] of book.present.membersOf('production', queue)) {
      found.set(incident, [...(found.get(incident) ?? []), dlqId]);
    }
  }
  return found;
}

/** The groups without the ids of the incidents, in a fixed order. */
function partition(book: IncidentBook): string[] {
  return [...groups(book).values()].map((ids) => ids.toSorted().join(' ')).toSorted();
}

/** Incidents without their ids and the times of the daemon, which may depend on the order. */
function summaries(book: IncidentBook): unknown[] {
  return [...book.present.all()]
    .map(({ kind, place, reason, firstAt, lastAt, now, ever, rate }) => ({
      key: `${kind} ${place} ${reason} ${firstAt}`,
      lastAt,
      now,
      ever,
      rate,
    }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

const only = (book: IncidentBook): Incident => {
  const all = [...book.present.all()];
  expect(all).toHaveLength(1);
  return all[0]!;
};

describe('planted incidents', async () => {
  test('every dead letter is in the right group: precision and recall are 1', async () => {
    const { book } = await world();
    const { runs, deadLetters, truth } = planted();
    await take(book, readingOfRuns(runs));
    await take(book, readingOfDeadLetters(deadLetters));
    const found = [...groups(book).values()];
    // Precision: no group has dead letters of two incidents. Recall: no incident is in two groups.
    const names = found.map((ids) => [...new Set(ids.map((id) => truth.get(id)))]);
    expect(names.filter((of) => of.length > 1)).toEqual([]);
    expect(names.length).toBe(new Set(truth.values()).size);
    expect(found.flat()).toHaveLength(truth.size);
    expect([...book.present.all()].map(membersNow).reduce((a, b) => a + b)).toBe(truth.size);
  });

  test('the groups do not depend on the order of dead letters or on the borders of readings', async () => {
    const { runs } = planted(12);
    const whole = (await world()).book;
    await take(whole, readingOfRuns(runs));
    const pages = fc.shuffledSubarray(runs as WorkflowDlqEntry[], { minLength: runs.length });
    await fc.assert(
      fc.asyncProperty(pages, fc.array(fc.nat(runs.length), { maxLength: 6 }), async (shuffled, borders) => {
        const { book } = await world();
        // Each reading has everything that the previous one had.
        for (const border of [...borders.toSorted((a, b) => a - b), runs.length]) {
          await take(book, readingOfRuns(shuffled.slice(0, border)));
        }
        expect(partition(book)).toEqual(partition(whole));
        expect(summaries(book)).toEqual(summaries(whole));
      }),
      { numRuns: 40 },
    );
  });

  test('a gap shorter than 30 minutes joins, also when the failure in between arrives last', async () => {
    const times = fc.array(fc.integer({ min: 0, max: 600 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(times, async (minutes) => {
        const { book } = await world();
        for (const n of minutes.keys()) {
          const rows = minutes.slice(0, n + 1).map((at, m) => run({ dlqId: `d${m}`, createdAt: START + at * MINUTE }));
          await take(book, readingOfRuns(rows));
        }
        const sorted = minutes.toSorted((a, b) => a - b);
        const onsets = sorted.filter((at, n) => n === 0 || at - sorted[n - 1]! >= 30);
        expect(
          [...book.present.all()].map(({ firstAt }) => (firstAt - START) / MINUTE).toSorted((a, b) => a - b),
        ).toEqual(onsets);
      }),
      { numRuns: 60 },
    );
  });
});

describe('members', async () => {
  test('members that left count as ever, and expired ones separately', async () => {
    const { book } = await world();
    const rows = ['a', 'b', 'c'].map((dlqId) => run({ dlqId }));
    await take(book, readingOfRuns(rows, { at: START + MINUTE, retentionMs: 60 * MINUTE }));
    await take(book, readingOfRuns(rows.slice(1), { at: START + 2 * MINUTE, retentionMs: 60 * MINUTE }));
    await take(book, readingOfRuns(rows.slice(2), { at: START + 61 * MINUTE, retentionMs: 60 * MINUTE }));
    expect(only(book)).toMatchObject({ now: { workflow: 1 }, ever: 3, expired: 1 });
  });

  test('a reading that may lack entries removes no member', async () => {
    const { book } = await failed();
    await take(book, readingOfRuns([], { completeFrom: Infinity }));
    expect(only(book).now.workflow).toBe(1);
    await take(book, readingOfRuns([], { completeFrom: START + 1 }));
    expect(only(book).now.workflow).toBe(1);
    await take(book, readingOfRuns([], { completeFrom: START }));
    expect(only(book).now.workflow).toBe(0);
  });

  test('an id that now belongs to a later failure is a new member', async () => {
    const { book } = await failed();
    await take(book, readingOfRuns([run({ dlqId: 'a', createdAt: START + MINUTE })]));
    expect(only(book)).toMatchObject({ now: { workflow: 1 }, ever: 2, lastAt: START + MINUTE });
  });

  test('a run that was resumed and failed again returns to its incident after the gap', async () => {
    const { book } = await failed();
    const again = run({ dlqId: 'b', createdAt: START + 120 * MINUTE, labels: ['opsd:x:l1:1'] });
    await take(book, readingOfRuns([again]));
    expect(only(book)).toMatchObject({ ever: 2, now: { workflow: 1 } });
    // A run without a stamp is a new failure.
    await take(book, readingOfRuns([again, run({ dlqId: 'c', createdAt: START + 240 * MINUTE })]));
    expect([...book.present.all()]).toHaveLength(2);
  });

  test('the sparkline has a fixed number of steps, and all members', async () => {
    const { book } = await world();
    const rows = Array.from({ length: 200 }, (_, n) => run({ dlqId: `d${n}`, createdAt: START + n * 29 * MINUTE }));
    for (const end of [1, 50, 200]) await take(book, readingOfRuns(rows.slice(0, end)));
    const { rate } = only(book);
    expect(rate!.counts.length).toBeLessThanOrEqual(RATE_STEPS);
    expect(rate!.counts.reduce((a, b) => a + b)).toBe(200);
  });
});

test('at the limit, further kinds are members of one overflow incident, the largest kinds are not', async () => {
  const { book } = await world(3);
  const rows = ['a', 'a', 'a', 'b', 'b', 'c', 'c', 'd', 'e'].map((host, n) =>
    run({ dlqId: `d${n}`, workflowUrl: `https://${host}.example/` }),
  );
  await take(book, readingOfRuns(rows));
  const places = [...book.present.all()].map(({ kind, place, ever }) => [kind, place, ever]);
  expect(places.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
    ['overflow', 'other', 2],
    ['workflow', 'a.example', 3],
    ['workflow', 'b.example', 2],
    ['workflow', 'c.example', 2],
  ]);
});

describe('the store', async () => {
  test('after a restart, nothing is opened or counted twice', async () => {
    const { book, store } = await world();
    const { runs, deadLetters } = planted(5);
    await take(book, readingOfRuns(runs));
    await take(book, readingOfDeadLetters(deadLetters));
    const before = [...book.present.all()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const again = await IncidentBook.open(store);
    await take(again, readingOfRuns(runs));
    await take(again, readingOfDeadLetters(deadLetters));
    expect([...again.present.all()].toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(before);
    expect(partition(again)).toEqual(partition(book));
  });

  test('a crash between two commits of a reading loses nothing and doubles nothing', async () => {
    const rows = Array.from({ length: 5_000 }, (_, n) => run({ dlqId: `d${n}`, createdAt: START + n }));
    const { book, store } = await world();
    const parts = book.take(readingOfRuns(rows));
    while ([...book.present.all()].length === 0) expect((await parts.next()).done).toBe(false);
    const again = await IncidentBook.open(store);
    expect(only(again).ever).toBe(2_000);
    await take(again, readingOfRuns(rows));
    expect(only(again)).toMatchObject({ ever: 5_000, now: { workflow: 5_000 }, id: only(book).id });
  });

  test('after a failed commit, memory and store agree again', async () => {
    const { book, store, db } = await failed();
    db.exec('ALTER TABLE incident_members RENAME TO gone');
    const reading = readingOfRuns([run({ dlqId: 'a' }), run({ dlqId: 'b' })]);
    await expect(take(book, reading)).rejects.toThrow('incident_members');
    expect(only(book).ever).toBe(1);
    db.exec('ALTER TABLE gone RENAME TO incident_members');
    await take(book, readingOfRuns([run({ dlqId: 'a' }), run({ dlqId: 'b' })]));
    expect(only(book).ever).toBe(2);
    expect((await IncidentBook.open(store)).present.get(only(book).id)).toEqual(only(book));
  });

  test('a failed commit of one account keeps no other account from being committed', async () => {
    const { book, store, lost } = await world();
    for (const account of ['a', 'b', 'c']) await take(book, { ...readingOfRuns([run({ dlqId: 'd' })]), account });
    lost.add('a');
    const later = START + 400 * 86_400_000;
    await expect(
      book.review(later, new Map([...book.present.all()].map(({ id }) => [id, ['campaign']]))),
    ).rejects.toThrow('account a was not changed');
    const stored = await IncidentBook.open(store);
    const campaigns = [...stored.present.all()].map((one): [string, number] => [one.account, one.campaigns.length]);
    expect(new Map(campaigns)).toEqual(
      new Map([
        ['a', 0],
        ['b', 1],
        ['c', 1],
      ]),
    );
  });

  test('an acknowledgment during a commit is decided on its result, and neither is lost', async () => {
    const { book, store, held } = await failed();
    const { id } = only(book);
    const commit = Promise.withResolvers<void>();
    held.until = commit.promise;
    const taken = take(book, readingOfRuns([run({ dlqId: 'a' }), run({ dlqId: 'b' })]));
    await Promise.resolve();
    const acknowledged = book.acknowledge(id, { by: 'anna', note: 'seen', at: START }, START);
    commit.resolve();
    await Promise.all([taken, acknowledged]);
    expect(await acknowledged).toMatchObject({ ever: 2, state: 'acknowledged' });
    expect((await IncidentBook.open(store)).present.get(id)).toMatchObject({ ever: 2, acknowledged: { by: 'anna' } });
  });

  test('members stay if the state is loaded again in the middle of a reading', async () => {
    const { book, db } = await world();
    const rows = Array.from({ length: 10_001 }, (_, n) => run({ dlqId: `d${n}`, createdAt: START + n }));
    await take(book, readingOfRuns(rows));
    const { id } = only(book);
    const acknowledge = () => book.acknowledge(id, { by: 'anna', note: 'seen', at: START }, START);
    const again = book.take(readingOfRuns(rows));
    expect((await again.next()).done).toBe(false);
    db.exec('ALTER TABLE incidents RENAME TO gone');
    await expect(acknowledge()).rejects.toThrow('incidents');
    db.exec('ALTER TABLE gone RENAME TO incidents');
    await acknowledge();
    for await (const _part of again);
    expect(only(book)).toMatchObject({ now: { workflow: 10_001 }, ever: 10_001 });
    await take(book, readingOfRuns(rows));
    expect(only(book)).toMatchObject({ now: { workflow: 10_001 }, ever: 10_001 });
  });

  test('an incident that became part of another one is found under its former id', async () => {
    const { book, store } = await world();
    const row = (dlqId: string, minute: number) => run({ dlqId, createdAt: START + minute * MINUTE });
    await take(book, readingOfRuns([row('a', 0), row('b', 40)]));
    const ids = [...book.present.all()].map(({ id }) => id);
    expect(ids).toHaveLength(2);
    await take(book, readingOfRuns([row('a', 0), row('b', 40), row('c', 20)]));
    for (const present of [book, await IncidentBook.open(store)]) {
      expect(ids.map((id) => present.present.get(id)?.id)).toEqual([only(present).id, only(present).id]);
      expect(groups(present).get(only(present).id)?.toSorted()).toEqual(['a', 'b', 'c']);
    }
  });

  test('resolved incidents are forgotten after 30 days', async () => {
    const { book, store } = await failed();
    await take(book, readingOfRuns([]));
    await book.review(START + MINUTE, new Map());
    expect(only(book)).toMatchObject({ state: 'resolved', resolvedAt: START + MINUTE });
    await book.review(START + 2 * MINUTE + 30 * 86_400_000, new Map());
    expect([...book.present.all()]).toEqual([]);
    expect(await store.load()).toEqual([]);
  });
});

describe('states', async () => {
  interface Case {
    readonly verifying?: true;
    readonly note?: true;
    readonly left?: true;
    readonly hours?: number;
  }

  test.each<[string, Case]>([
    ['open', {}],
    ['recovering', { verifying: true }],
    ['acknowledged', { note: true }],
    ['recovering', { note: true, verifying: true }],
    ['resolved', { left: true }],
    ['recovering', { left: true, verifying: true }],
    ['acknowledged', { note: true, hours: 23 }],
    ['resolved', { note: true, hours: 24 }],
    ['open', { hours: 24 }],
  ])('%s: %j', async (state, { verifying, note, left, hours = 0 }) => {
    const { book } = await failed();
    const { id } = only(book);
    if (note) await book.acknowledge(id, { by: 'anna', note: 'seen', at: START }, START);
    if (left) await take(book, readingOfRuns([]));
    await book.review(START + hours * 60 * MINUTE, new Map(verifying ? [[id, ['p/1']]] : []));
    expect(only(book).state).toBe(state);
    expect(only(book).campaigns).toEqual(verifying ? ['p/1'] : []);
  });

  const snoozed = { by: 'anna', note: '', at: START } as const;
  test.each([
    ['until a time', { until: START + DAY * 3 }, DAY * 3, false],
    ['until a deploy', { untilDeploy: true }, DAY * 9, true],
  ])('snoozed %s: it stays so without new failures, is open again after it, also after a restart', async (...given) => {
    const [, end, ends, isDeployed] = given;
    const { book, store } = await failed();
    const { id } = only(book);
    await book.report([id], `incident/${id}`);
    await book.acknowledge(id, { ...snoozed, ...end }, START);
    await book.review(START + ends - 1, new Map());
    expect(only(book)).toMatchObject({ state: 'acknowledged', reportedAs: `incident/${id}` });
    await book.review(START + ends, new Map(), () => isDeployed);
    for (const present of [book, await IncidentBook.open(store)]) {
      expect(only(present)).toMatchObject({ state: 'open', acknowledged: { ...snoozed, endedAt: START + ends } });
      expect(only(present).reportedAs).toBeUndefined();
    }
    await book.review(START + ends + DAY * 2, new Map(), () => isDeployed);
    expect(only(book)).toMatchObject({ state: 'open', acknowledged: { endedAt: START + ends } });
  });

  test('a snooze ends during a repair', async () => {
    const { book } = await failed();
    const { id } = only(book);
    const verifying = new Map([[id, ['p/1']]]);
    await book.acknowledge(id, { ...snoozed, until: START + 1 }, START);
    await book.review(START, verifying);
    await book.review(START + 1, verifying);
    expect(only(book)).toMatchObject({ state: 'recovering', acknowledged: { endedAt: START + 1 } });
  });

  test('a deploy ends no acknowledgment', async () => {
    const { book } = await failed();
    await book.acknowledge(only(book).id, { by: 'anna', note: 'seen', at: START }, START);
    await book.review(START, new Map(), () => true);
    expect(only(book)).toMatchObject({ state: 'acknowledged' });
  });

  test('a snoozed incident without members is resolved', async () => {
    const { book } = await failed();
    await book.acknowledge(only(book).id, { ...snoozed, untilDeploy: true }, START);
    await take(book, readingOfRuns([]));
    await book.review(START, new Map());
    expect(only(book).state).toBe('resolved');
  });

  test('two incidents that are one keep the acknowledgment that has not ended', async () => {
    const { book } = await world();
    const row = (dlqId: string, minute: number) => run({ dlqId, createdAt: START + minute * MINUTE });
    await take(book, readingOfRuns([row('a', 0), row('b', 40)]));
    const [a, b] = [...book.present.all()].toSorted((one, other) => one.firstAt - other.firstAt);
    await book.acknowledge(a!.id, { ...snoozed, until: START + 1 }, START);
    await book.review(START + 1, new Map());
    await book.acknowledge(b!.id, { by: 'tom', note: 'seen', at: START + 2 }, START + 2);
    await take(book, readingOfRuns([row('a', 0), row('b', 40), row('c', 20)]));
    expect(only(book)).toMatchObject({ id: a!.id, acknowledged: { by: 'tom' } });
  });

  test('a resolved incident with a new member is open again', async () => {
    const { book } = await failed();
    await take(book, readingOfRuns([]));
    await book.review(START, new Map());
    await take(book, readingOfRuns([run({ dlqId: 'b', createdAt: START + MINUTE })]));
    await book.review(START, new Map());
    expect(only(book)).toMatchObject({ state: 'open', ever: 2 });
    expect(only(book).resolvedAt).toBeUndefined();
  });
});

describe('failing destinations', async () => {
  const kind = {
    account: 'production',
    kind: 'destination',
    place: 'crm.vendor.example',
    reason: 'HTTP 500',
    cause: 'transient',
  } as const;
  const deliveries = { failed: 20, lost: 3, since: START, lastAt: START + MINUTE, isFailing: true };
  const at = { at: START, recoveryOf: () => 'healthy' as const };

  test('dead letters and failing deliveries of a destination are one incident', async () => {
    const { book } = await world();
    await book.takeDestinations('production', [{ ...kind, deliveries }], at);
    const { deadLetters } = planted(3);
    await take(book, readingOfDeadLetters(deadLetters.filter(({ dlqId }) => dlqId.startsWith('crm'))));
    expect(only(book)).toMatchObject({ ever: 3, deliveries: { failed: 20 } });
  });

  test('another most frequent reason does not open another incident', async () => {
    const { book } = await world();
    await book.takeDestinations('production', [{ ...kind, deliveries }], at);
    await book.takeDestinations(
      'production',
      [{ ...kind, reason: 'timeout', deliveries: { ...deliveries, failed: 90 } }],
      at,
    );
    expect(only(book)).toMatchObject({ reason: 'HTTP 500', deliveries: { failed: 90 } });
  });

  test('it resolves once the destination delivers, not while that is unknown', async () => {
    const { book } = await world();
    await book.takeDestinations('production', [{ ...kind, deliveries }], at);
    await book.review(START, new Map());
    expect(only(book).state).toBe('open');
    await book.takeDestinations('production', [], { at: START, recoveryOf: () => undefined });
    await book.review(START, new Map());
    expect(only(book).state).toBe('open');
    await book.takeDestinations('production', [], at);
    await book.review(START, new Map());
    expect(only(book).state).toBe('resolved');
  });
});
