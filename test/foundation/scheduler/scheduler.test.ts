import { describe, expect, onTestFinished, test } from 'vitest';
import { EventBus, type OpsEvent } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { TimeoutError } from '#foundation/platform/sleep.ts';
import { Scheduler, type Task } from '#foundation/scheduler/scheduler.ts';

const START = Date.parse('2026-11-20T10:00:00Z');
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

function world(options: { readonly wall?: number; readonly random?: number; readonly graceMs?: number } = {}) {
  const clock = new ManualClock(options.wall ?? START);
  const events = new EventBus();
  const heard: OpsEvent[] = [];
  events.subscribe((event) => heard.push(event));
  const scheduler = new Scheduler({
    clock,
    events,
    random: () => options.random ?? 0,
    ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
  });
  onTestFinished(() => scheduler.stop());
  return { clock, scheduler, heard };
}

type World = ReturnType<typeof world>;

/** A task that records when it ran (`HH:MM:SS` of the wall clock). */
function noting({ clock }: World, task: Partial<Task> & Pick<Task, 'schedule'>) {
  const runs: string[] = [];
  const skips: string[] = [];
  const full: Task = {
    name: 'task',
    timeoutMs: HOUR,
    jitter: 0,
    onSkip: () => skips.push(wallOf(clock)),
    ...task,
    run: async (signal) => {
      runs.push(wallOf(clock));
      return await task.run?.(signal);
    },
  };
  return { task: full, runs, skips };
}

/** Starts a scheduler with one task that records when it ran. */
function started(task: Parameters<typeof noting>[1], options: Parameters<typeof world>[0] = {}) {
  const w = world(options);
  const noted = noting(w, task);
  w.scheduler.add(noted.task);
  w.scheduler.start();
  return { w, ...noted };
}

function wallOf(clock: ManualClock): string {
  return new Date(clock.now()).toISOString().slice(11, 19);
}

/** Runs that end on request, or by their signal. */
function held() {
  const open: (() => void)[] = [];
  const seen: AbortSignal[] = [];
  const run = (signal: AbortSignal): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    seen.push(signal);
    open.push(resolve);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    return promise;
  };
  const finish = (): void => {
    for (const resolve of open) resolve();
  };
  return { run, finish, seen };
}

describe('a run that requests a repetition', () => {
  test('is repeated before its next slot, and the grid stays unchanged', async () => {
    let failures = 2;
    const { w, runs } = started({
      schedule: { every: 60 * SECOND },
      run: () => Promise.resolve(failures-- > 0 ? { againInMs: 5 * SECOND } : undefined),
    });
    await w.clock.advance(61 * SECOND);
    expect(runs).toEqual(['10:00:00', '10:00:05', '10:00:10', '10:01:00']);
  });

  test('is not, when the next slot is earlier or the scheduler was stopped', async () => {
    const { w, runs } = started({
      schedule: { every: 10 * SECOND },
      run: () => Promise.resolve({ againInMs: 10 * SECOND }),
    });
    await w.clock.advance(21 * SECOND);
    expect(runs).toEqual(['10:00:00', '10:00:10', '10:00:20']);

    const late = started({ schedule: { every: HOUR }, run: () => Promise.resolve({ againInMs: SECOND }) });
    await late.w.clock.advance(0);
    await late.w.scheduler.stop();
    await late.w.clock.advance(HOUR);
    expect(late.runs).toEqual(['10:00:00']);
    expect(late.w.clock.timers).toBe(0);
  });
});

describe('every', () => {
  test('runs at once, then on the grid', async () => {
    const w = world();
    const { task, runs } = noting(w, { schedule: { every: 10 * SECOND } });
    w.scheduler.add(task);
    await w.clock.advance(MINUTE);
    expect(runs).toEqual([]);
    w.scheduler.start();
    await w.clock.advance(25 * SECOND);
    expect(runs).toEqual(['10:01:00', '10:01:10', '10:01:20']);
    expect(w.scheduler.nextRunAt('task')).toBe(START + 90 * SECOND);
  });

  test('the next run is a whole millisecond, whatever the fraction of the monotonic clock', async () => {
    const { w } = started({ schedule: { every: 10 * SECOND }, jitter: 0.3 }, { random: 0.123_456_7 });
    await w.clock.advance(15 * SECOND);
    expect(w.scheduler.nextRunAt('task')! % 1).toBe(0);
  });

  test('jitter delays the first run, by a second at most, and moves the grid with it', async () => {
    const { w, runs } = started({ schedule: { every: 10 * SECOND }, jitter: 1 }, { random: 0.999 });
    await w.clock.advance(998);
    expect(runs).toEqual([]);
    await w.clock.advance(2);
    expect(runs).toHaveLength(1);
    await w.clock.advance(10 * SECOND - 2);
    expect(runs).toHaveLength(1);
    await w.clock.advance(2);
    expect(runs).toHaveLength(2);
  });

  test('a task added later begins at once', async () => {
    const w = world();
    w.scheduler.start();
    await w.clock.advance(3 * SECOND);
    const { task, runs } = noting(w, { schedule: { every: 10 * SECOND } });
    w.scheduler.add(task);
    await w.clock.advance(10 * SECOND);
    expect(runs).toEqual(['10:00:03', '10:00:13']);
  });

  test('does not drift with the duration of runs', async () => {
    const { w, runs } = started({
      schedule: { every: 10 * SECOND },
      run: () => new Promise((resolve) => void w.clock.after(3_700, resolve)),
    });
    await w.clock.advance(10 * MINUTE - 1);
    expect(runs).toHaveLength(60);
    expect(runs.at(-1)).toBe('10:09:50');
  });

  test('a long run makes ticks skipped and counted, not queued', async () => {
    const long = held();
    const { w, runs, skips } = started({ schedule: { every: 10 * SECOND }, run: long.run });
    await w.clock.advance(35 * SECOND);
    expect(runs).toEqual(['10:00:00']);
    expect(skips).toEqual(['10:00:10', '10:00:20', '10:00:30']);
    long.finish();
    await w.clock.advance(10 * SECOND);
    expect(runs).toEqual(['10:00:00', '10:00:40']);
    long.finish();
  });

  test('a change of the wall clock changes nothing', async () => {
    const { w, runs } = started({ schedule: { every: 10 * SECOND } });
    await w.clock.advance(5 * SECOND);
    w.clock.jump(-HOUR);
    await w.clock.advance(10 * SECOND);
    w.clock.jump(2 * HOUR);
    await w.clock.advance(10 * SECOND);
    expect(runs).toEqual(['10:00:00', '09:00:10', '11:00:20']);
    expect(w.heard).toEqual([]);
  });

  test('a blocked event loop is followed by one run, then by the grid', async () => {
    const { clock, runs, block, unblock } = blockable({ every: 10 * SECOND });
    await clock.advance(SECOND);
    block();
    await clock.advance(34 * SECOND);
    unblock();
    await clock.advance(10 * SECOND);
    expect(runs).toEqual(['10:00:00', '10:00:35', '10:00:40']);
  });
});

/** Starts a task on a clock whose timers can be delayed, as in a process with a blocked event loop. */
function blockable(schedule: Task['schedule']) {
  const w = world();
  const { clock } = w;
  let isBlocked = false;
  const late: (() => void)[] = [];
  const blocked = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms: number, run: () => void) => clock.after(ms, () => (isBlocked ? void late.push(run) : run())),
  };
  const scheduler = new Scheduler({ clock: blocked, events: new EventBus(), random: () => 0 });
  onTestFinished(() => scheduler.stop());
  const { task, runs } = noting(w, { schedule });
  scheduler.add(task);
  scheduler.start();
  return {
    clock,
    runs,
    block: () => {
      isBlocked = true;
    },
    unblock: () => {
      isBlocked = false;
      for (const run of late.splice(0)) run();
    },
  };
}

describe('cron', () => {
  const everyQuarter = { cron: '*/15 * * * *', timezone: 'UTC' };

  test('runs only at its slots', async () => {
    const { w, runs } = started({ schedule: everyQuarter }, { wall: START + 7 * MINUTE });
    expect(w.scheduler.nextRunAt('task')).toBe(START + 15 * MINUTE);
    await w.clock.advance(40 * MINUTE);
    expect(runs).toEqual(['10:15:00', '10:30:00', '10:45:00']);
  });

  test('runs at the start too when requested', async () => {
    const { w, runs } = started({ schedule: everyQuarter, runAtStart: true }, { wall: START + 7 * MINUTE });
    await w.clock.advance(10 * MINUTE);
    expect(runs).toEqual(['10:07:00', '10:15:00']);
  });

  test('an invalid expression is rejected when the task is added', () => {
    const w = world();
    const { task } = noting(w, { schedule: { cron: '61 * * * *', timezone: 'UTC' } });
    expect(() => w.scheduler.add(task)).toThrow(/minute/);
  });

  test('a blocked event loop loses no slot and runs several only once', async () => {
    const { clock, runs, block, unblock } = blockable(everyQuarter);
    block();
    await clock.advance(50 * MINUTE);
    unblock();
    await clock.advance(15 * MINUTE);
    expect(runs).toEqual(['10:50:00', '11:00:00']);
  });

  test('a wall clock set ahead runs the skipped slots once, and reports it', async () => {
    const { w, runs } = started({ schedule: everyQuarter });
    await w.clock.advance(MINUTE);
    w.clock.jump(5 * HOUR);
    await w.clock.advance(20 * MINUTE);
    // The watchdog checks every five seconds.
    expect(runs).toEqual(['15:01:05', '15:15:00']);
    expect(w.heard).toEqual([{ type: 'schedule.rearmed', name: 'task', jumpMs: 5 * HOUR }]);
  });

  test('a wall clock set ahead within the wait brings the slot forward', async () => {
    const { w, runs } = started({ schedule: everyQuarter });
    w.clock.jump(10 * MINUTE);
    await w.clock.advance(6 * MINUTE);
    expect(runs).toEqual(['10:15:00']);
  });

  test('a wall clock set back does not silence the task until it has caught up', async () => {
    const { w, runs } = started({ schedule: everyQuarter });
    await w.clock.advance(16 * MINUTE);
    w.clock.jump(-3 * HOUR);
    await w.clock.advance(30 * MINUTE);
    expect(runs).toEqual(['10:15:00', '07:30:00', '07:45:00']);
    expect(w.heard).toEqual([{ type: 'schedule.rearmed', name: 'task', jumpMs: -3 * HOUR }]);
  });

  test('a wall clock set back slightly does not repeat the slot', async () => {
    const { w, runs } = started({ schedule: everyQuarter });
    await w.clock.advance(15 * MINUTE + 2 * SECOND);
    w.clock.jump(-10 * SECOND);
    await w.clock.advance(15 * MINUTE + 10 * SECOND);
    expect(runs).toEqual(['10:15:00', '10:30:00']);
  });

  test('a wall clock that runs slow does not fire early', async () => {
    const { w, runs } = started({ schedule: everyQuarter });
    await w.clock.advance(14 * MINUTE);
    w.clock.jump(-900);
    await w.clock.advance(MINUTE);
    expect(runs).toEqual([]);
    await w.clock.advance(900);
    expect(runs).toEqual(['10:15:00']);
  });

  test.each([
    ['goes back', '2026-10-24T22:00:00Z', 25 * 4],
    ['goes on', '2026-03-28T23:00:00Z', 23 * 4],
  ])('when Berlin %s, a quarter of an hour stays one', async (_what, midnight, quarters) => {
    const starts: number[] = [];
    const { w } = started(
      {
        schedule: { cron: '*/15 * * * *', timezone: 'Europe/Berlin' },
        run: async () => void starts.push(w.clock.now()),
      },
      { wall: Date.parse(midnight) },
    );
    // One local day, which is 25 or 23 hours long.
    await w.clock.advance(quarters * 15 * MINUTE);
    expect(starts).toHaveLength(quarters);
    const gaps = starts.slice(1).map((at, n) => at - starts[n]!);
    expect(new Set(gaps)).toEqual(new Set([15 * MINUTE]));
  });

  test.each(['2026-03-27T12:00:00Z', '2026-10-23T12:00:00Z'])(
    'a daily run happens once on each day of the change after %s',
    async (start) => {
      const schedule = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
      const { w, runs } = started({ schedule }, { wall: Date.parse(start) });
      await w.clock.advance(4 * 24 * HOUR);
      expect(runs).toHaveLength(4);
    },
  );
});

describe('a run', () => {
  test('that takes too long is aborted, and the next one starts', async () => {
    const long = held();
    const { w, runs } = started({ schedule: { every: 10 * SECOND }, timeoutMs: 4 * SECOND, run: long.run });
    await w.clock.advance(4 * SECOND);
    expect(long.seen[0]?.reason).toBeInstanceOf(TimeoutError);
    await w.clock.advance(6 * SECOND);
    expect(runs).toHaveLength(2);
    long.finish();
  });

  test('that fails is reported and does not end the schedule', async () => {
    const errors: unknown[] = [];
    const boom = new Error('boom');
    const { w, runs } = started({
      schedule: { every: 10 * SECOND },
      run: () => Promise.reject(boom),
      onError: (error) => errors.push(error),
    });
    await w.clock.advance(10 * SECOND);
    expect(runs).toHaveLength(2);
    expect(errors).toEqual([boom, boom]);
  });
});

describe('stopping', () => {
  test('waits for runs in progress and starts no more', async () => {
    const long = held();
    const { w, runs } = started({ schedule: { every: 10 * SECOND }, run: long.run });
    await w.clock.advance(SECOND);
    let stopped = false;
    const stop = w.scheduler.stop().then(() => {
      stopped = true;
    });
    await w.clock.advance(9 * SECOND);
    expect(stopped).toBe(false);
    expect(long.seen[0]?.aborted).toBe(false);
    long.finish();
    await stop;
    await w.clock.advance(HOUR);
    expect(runs).toHaveLength(1);
    expect(w.clock.timers).toBe(0);
  });

  test('aborts unfinished runs after the grace period', async () => {
    const long = held();
    const { w } = started({ schedule: { every: 10 * SECOND }, run: long.run }, { graceMs: 3 * SECOND });
    await w.clock.advance(SECOND);
    const stop = w.scheduler.stop();
    await w.clock.advance(3 * SECOND);
    await stop;
    expect(long.seen[0]?.reason).toMatchObject({ name: 'AbortError' });
    expect(w.clock.timers).toBe(0);
  });

  test('twice is once; afterwards nothing can start', async () => {
    const w = world();
    const { task } = noting(w, { schedule: { cron: '* * * * *', timezone: 'UTC' } });
    w.scheduler.add(task);
    w.scheduler.start();
    await Promise.all([w.scheduler.stop(), w.scheduler.stop()]);
    expect(w.clock.timers).toBe(0);
    expect(w.scheduler.nextRunAt('task')).toBeUndefined();
    expect(() => w.scheduler.add({ ...task, name: 'late' })).toThrow('stopped');
  });
});

test('two tasks of one name are rejected', () => {
  const w = world();
  const { task } = noting(w, { schedule: { every: SECOND } });
  w.scheduler.add(task);
  expect(() => w.scheduler.add(task)).toThrow('two tasks named task');
});
