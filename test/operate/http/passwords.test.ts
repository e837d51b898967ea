/** Passwords: each is compared once, in a bounded queue, without a hint about existing users. */
import { hashSync } from 'bcryptjs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { Passwords, threadComparer, type Comparer } from '#operate/http/passwords.ts';

const ALICE = { user: 'alice', password: 'correct horse' };

function hashOf(password: string, kind: '2a' | '2b' | '2y' = '2y', cost = 4): string {
  return hashSync(password, cost).replace(/^\$2.\$/, `$${kind}$`);
}

const users = new Map([['alice', Secret.of(hashOf(ALICE.password))]]);

interface Asked {
  readonly password: string;
  readonly hash: string;
  readonly answer: (isRight: boolean) => void;
  readonly fail: () => void;
}

/** Comparisons that end when the test requests it. */
function heldComparer() {
  const asked: Asked[] = [];
  const comparer: Comparer = {
    compare: (password, hash) =>
      new Promise((resolve, reject) =>
        asked.push({ password, hash, answer: resolve, fail: () => reject(new Error('the thread has ended')) }),
      ),
    [Symbol.dispose]: () => undefined,
  };
  return { asked, passwords: new Passwords(comparer) };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function withThread(): Passwords {
  const comparer = threadComparer(new ManualClock(0));
  onTestFinished(() => comparer[Symbol.dispose]());
  return new Passwords(comparer);
}

describe('a password', () => {
  test.each(['2a', '2b', '2y'] as const)('is compared with a hash of the kind $%s$', async (kind) => {
    const passwords = withThread();
    const known = new Map([['alice', Secret.of(hashOf('pässword', kind, 5))]]);
    expect(await passwords.isRight({ user: 'alice', password: 'pässword' }, known)).toBe(true);
    expect(await passwords.isRight({ user: 'alice', password: 'password' }, known)).toBe(false);
    expect(await passwords.isRight({ user: 'bob', password: 'pässword' }, known)).toBe(false);
    expect(await passwords.isRight({ user: 'alice', password: '' }, known)).toBe(false);
  });

  test('is compared once; a hash that changes is another', async () => {
    const { asked, passwords } = heldComparer();
    const first = passwords.isRight(ALICE, users);
    const meanwhile = passwords.isRight(ALICE, users);
    await turns();
    asked[0]!.answer(true);
    expect([await first, await meanwhile, await passwords.isRight(ALICE, users)]).toEqual([true, true, true]);
    expect(asked).toHaveLength(1);

    const wrong = { user: 'alice', password: 'wrong' };
    const second = passwords.isRight(wrong, users);
    await turns();
    asked[1]!.answer(false);
    expect([await second, await passwords.isRight(wrong, users)]).toEqual([false, false]);
    expect(asked).toHaveLength(2);

    void passwords.isRight(ALICE, new Map([['alice', Secret.of(hashOf('other'))]]));
    await turns();
    expect(asked).toHaveLength(3);
  });

  test('of an unknown user costs an equal comparison, and never matches', async () => {
    const { asked, passwords } = heldComparer();
    const known = new Map([['alice', Secret.of(hashOf('x', '2b', 6))]]);
    const nobody = passwords.isRight({ user: 'mallory', password: 'x' }, known);
    await turns();
    expect(asked[0]!.hash).toMatch(/^\$2b\$06\$[./A-Za-z0-9]{53}$/);
    asked[0]!.answer(true);
    expect(await nobody).toBe(false);
    expect(await passwords.isRight({ user: 'mallory', password: 'x' }, known)).toBe(false);
  });

  test('of one user is not accepted for another', async () => {
    const { asked, passwords } = heldComparer();
    const hash = hashOf('x');
    const known = new Map(['al', `al${hash}`].map((user) => [user, Secret.of(hash)]));
    void passwords.isRight({ user: 'al', password: `${hash}x` }, known);
    void passwords.isRight({ user: `al${hash}`, password: 'x' }, known);
    await turns();
    asked[0]!.answer(true);
    await turns();
    expect(asked).toHaveLength(2);
  });
});

describe('a flood of wrong passwords', () => {
  test('is compared one by one, in a bounded queue', async () => {
    const { asked, passwords } = heldComparer();
    const tries = Array.from({ length: 40 }, (_, number) =>
      passwords.isRight({ user: 'alice', password: `guess ${number}` }, users).catch((error: unknown) => error),
    );
    await turns();
    expect(asked).toHaveLength(1);
    for (let number = 0; number < 16; number++) {
      asked[number]!.answer(false);
      await turns();
    }
    expect(asked).toHaveLength(16);
    const ends = await Promise.all(tries);
    expect(ends.filter((end) => end === false)).toHaveLength(16);
    expect(ends.filter((end) => end !== false)).toEqual(
      Array.from({ length: 24 }, () => expect.objectContaining({ status: 503, code: 'busy' }) as unknown),
    );
  });

  test('keeps known right ones, which need not wait either', async () => {
    const { asked, passwords } = heldComparer();
    const first = passwords.isRight(ALICE, users);
    await turns();
    asked[0]!.answer(true);
    await first;
    for (let number = 1; number <= 300; number++) {
      const guess = passwords.isRight({ user: 'alice', password: `guess ${number}` }, users);
      await turns();
      asked[number]!.answer(false);
      await guess;
    }
    void passwords.isRight({ user: 'alice', password: 'one more' }, users);
    expect(await passwords.isRight(ALICE, users)).toBe(true);
  });

  test('leaves the event loop to others', async () => {
    const passwords = withThread();
    const known = new Map([['alice', Secret.of(hashOf('x', '2b', 12))]]);
    let turned = 0;
    const done = new AbortController();
    const guesses = Promise.all(
      ['a', 'b'].map((password) => passwords.isRight({ user: 'alice', password }, known)),
    ).finally(() => done.abort());
    while (!done.signal.aborted) {
      await new Promise((resolve) => setImmediate(resolve));
      turned++;
    }
    expect(await guesses).toEqual([false, false]);
    // In the main thread, each comparison would block for a third of a second, with a few turns between.
    expect(turned).toBeGreaterThan(1_000);
  });
});

test('a thread that ends is no response, and the next comparison has another', async () => {
  const { asked, passwords } = heldComparer();
  const lost = passwords.isRight(ALICE, users).catch((error: unknown) => error);
  await turns();
  asked[0]!.fail();
  expect(await lost).toBeInstanceOf(Error);
  const next = passwords.isRight(ALICE, users);
  await turns();
  asked[1]!.answer(true);
  expect(await next).toBe(true);
});

test('an idle thread ends, and restarts when it is needed', async () => {
  const clock = new ManualClock(0);
  const comparer = threadComparer(clock);
  onTestFinished(() => comparer[Symbol.dispose]());
  const hash = hashOf('x');
  let threads = 0;
  const count = (): void => void threads++;
  process.on('worker', count);
  onTestFinished(() => void process.off('worker', count));
  for (const waited of [0, 29_000, 29_000, 30_000]) {
    await clock.advance(waited);
    expect(await comparer.compare('x', hash)).toBe(true);
  }
  expect(threads).toBe(2);
});
