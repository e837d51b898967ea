/** Canaries of all accounts: sends their messages on schedule, follows them, and shows their states. */
import type { Canaries, CanarySize, CanaryState } from '#foundation/domain/canary.ts';
import { formatSpan } from '#foundation/domain/time-text.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { sleep } from '#foundation/platform/sleep.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { Scheduler } from '#foundation/scheduler/scheduler.ts';
import { follow } from './follow.ts';
import { publish } from './publish.ts';
import type { QuestionDeps } from './questions.ts';
import type { Round } from './round.ts';
import { attemptMsOf, routeOf, type CanaryTarget } from './target.ts';

/** Limit of a publish request, above that of the client. */
const SEND_MS = 360_000;
/** Number of messages in flight above which a canary sends no more. */
const MOST_IN_FLIGHT = 50;
/** Time until a failed write to the store is tried again. */
const RETRY_MS = 10_000;
const SHOWN = 20;

export interface CanariesDeps extends QuestionDeps {
  readonly targets: readonly CanaryTarget[];
  readonly scheduler: Scheduler;
  readonly events: EventBus;
}

export interface RunningCanaries extends Canaries {
  /** Ends sending and following. Messages in flight stay in the store. */
  stop(): Promise<void>;
}

/** Schedules the messages, and follows those that an earlier process or configuration sent. */
export function startCanaries(deps: CanariesDeps): RunningCanaries {
  const { targets, scheduler, events, clock } = deps;
  const startedAt = clock.now();
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();

  function failed(error: unknown): void {
    reportStoreFailure(events, 'record of a canary', error);
  }

  async function followToEnd(target: CanaryTarget, round: Round): Promise<void> {
    const { signal } = stopping;
    for (;;) {
      try {
        return await follow(target, round, deps, signal);
      } catch (error) {
        if (signal.aborted) return;
        failed(error);
      }
      await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    }
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  async function send(target: CanaryTarget, signal: AbortSignal): Promise<void> {
    const { account, canary, settings, book, inbox } = target;
    // A message is not lost, and another one is not in flight, if another replica has it.
    await inbox.receive(target);
    const inFlight = book.rounds(target).filter((round) => !round.isEnded);
    if (inFlight.length >= MOST_IN_FLIGHT) return;
    const size = nextSize(target, clock.now());
    const round = await book.begin({
      account,
      canary,
      route: routeOf(settings),
      size,
      bytes: size === 'real' ? settings.realSize : settings.size,
      timeoutMs: settings.timeout,
      ...(settings.via?.workflow !== true && { attemptMs: attemptMsOf(settings) }),
    });
    round.watch(stopping.signal);
    try {
      await book.published(round, await publish(target, round, signal));
    } finally {
      track(followToEnd(target, round));
    }
  }

  for (const target of targets) {
    for (const round of target.book.rounds(target)) {
      track(target.book.unanswered(round).catch(failed));
      if (round.isEnded) continue;
      round.watch(stopping.signal);
      track(followToEnd(target, round));
    }
    scheduler.add({
      name: `canary/${target.account}/${target.canary}`,
      schedule: { every: target.settings.every },
      timeoutMs: SEND_MS,
      jitter: 1,
      run: (signal) => send(target, signal),
      onError: failed,
    });
  }

  return {
    states: () => targets.map((target) => stateOf(target, startedAt)),
    async stop() {
      stopping.abort(new Error('the daemon stops'));
      await Promise.allSettled(underWay);
    },
  };
}

/** Returns the size of the next message. After a failed message of the real size, the next one has it too. */
function nextSize({ settings, book, ...place }: CanaryTarget, now: number): CanarySize {
  const rounds = book.rounds(place);
  // The first message is a warm-up.
  if (rounds.length === 0) return 'small';
  const last = rounds.findLast(({ record }) => record.size === 'real');
  if (last === undefined || now - last.record.startedAt >= settings.realEvery) return 'real';
  const verdict = last.record.result?.verdict;
  return verdict === undefined || verdict === 'ok' ? 'small' : 'real';
}

function stateOf({ account, canary, settings, book }: CanaryTarget, startedAt: number): CanaryState {
  const place = { account, canary };
  const rounds = book.rounds(place);
  const state = book.state(place);
  const { every, timeout, via } = settings;
  const validMs = 3 * every + 2 * timeout;
  const age = book.judgedMs(place);
  const known =
    state !== undefined && age <= validMs
      ? { verdict: state.verdict, reason: state.reason, since: state.since }
      : { verdict: 'unknown' as const, reason: reasonOf(age), since: startedAt };
  return {
    account,
    canary,
    ...known,
    ...(state?.lastSuccessAt !== undefined && { lastSuccessAt: state.lastSuccessAt }),
    ...(via !== undefined && { via }),
    every,
    timeout,
    inFlight: rounds.filter((round) => !round.isEnded).length,
    rounds: rounds
      .slice(-SHOWN)
      .reverse()
      .map((round) => round.view()),
  };
}

/** Returns the reason why no verdict counts. An old one would be a guess. */
function reasonOf(age: number): string {
  return age === Infinity
    ? 'no message has its verdict since the daemon started'
    : `the last verdict is ${formatSpan(age)} old`;
}
