/** `--watch`: redraws a terminal, appends elsewhere, survives a restart of the daemon, and ends with 0. */
import { expect, onTestFinished, test } from 'vitest';
import { CommandError, type Command } from '#cli/command.ts';
import { OUTPUT_OPTION } from '#cli/output.ts';
import { showOrWatch, WATCH_OPTION, type Shown } from '#cli/watch.ts';
import type { ManualClock } from '#foundation/platform/manual-clock.ts';
import { runCommand, terminal, type TerminalOptions } from './terminal.ts';

/** A watch of these outputs, one for each reading. */
function watching(
  outputs: readonly (Shown | Error)[],
  options: TerminalOptions = {},
  args: readonly string[] = ['--watch'],
) {
  const world = terminal(options);
  onTestFinished(() => world.stop());
  let read = 0;
  const readNext = (): Promise<Shown> => {
    const output = outputs[Math.min(read++, outputs.length - 1)]!;
    return output instanceof Error ? Promise.reject(output) : Promise.resolve(output);
  };
  const command: Command = {
    name: 'x',
    summary: '',
    options: { watch: WATCH_OPTION, output: OUTPUT_OPTION },
    examples: ['', ''],
    run: (call) => showOrWatch(call, readNext),
  };
  const done = runCommand(command, args, world);
  const clock = world.io.clock as ManualClock;
  return { world, done, next: () => clock.advance(2_000), count: () => read };
}

test('without --watch the output is shown once, with its note and exit code', async () => {
  const { world, done } = watching([{ text: 'a\n', note: 'b\n', code: 3 }], {}, []);
  expect(await done).toBe(3);
  expect([world.stdout, world.stderr]).toEqual(['a\n', 'b\n']);
});

test('elsewhere than on a terminal it appends, and a signal ends it with 0', async () => {
  const { world, done, next, count } = watching([{ text: 'one\n', code: 3 }, { text: 'two\n' }]);
  await next();
  await next();
  world.stop();
  expect(await done).toBe(0);
  expect(count()).toBe(3);
  expect(world.stdout).toBe('one\ntwo\ntwo\n');
});

test('on a terminal it draws over the previous output, and truncates at the last row', async () => {
  const { world, done, next } = watching([{ text: 'a\nb\nc\nd\n' }, { text: 'e\n', note: 'f\n' }], {
    isTTY: true,
    rows: 4,
  });
  await next();
  world.stop();
  expect(await done).toBe(0);
  expect(world.stdout.replaceAll('\u001B', '^')).toBe('^[Ha^[K\nb^[K\n… 2 more lines^[K\n^[J^[He^[K\nf^[K\n^[J');
  expect(world.stderr).toBe('');
});

test('data is appended on a terminal as well, because a document must be whole', async () => {
  const { world, done, next } = watching([{ text: '{}\n' }], { isTTY: true, rows: 2 }, ['--watch', '-o', 'json']);
  await next();
  world.stop();
  await done;
  expect(world.stdout).toBe('{}\n{}\n');
});

test('a terminal that reports no rows has 24', async () => {
  const { world, done, next } = watching([{ text: 'a\nb\nc\n' }], { isTTY: true, rows: 0 });
  await next();
  world.stop();
  await done;
  expect(world.stdout).toContain('c\u001B[K\n');
});

test('a daemon that restarts does not end it: the last output stays, with the reason', async () => {
  const { world, done, next } = watching([{ text: 'a\n' }, new CommandError('no daemon\u001B'), { text: 'b\n' }]);
  await next();
  expect([world.stdout, world.stderr]).toEqual(['a\na\n', 'No new data: no daemon\\x1b\n']);
  await next();
  world.stop();
  expect(await done).toBe(0);
  expect(world.stdout).toBe('a\na\nb\n');
});

test.each([
  ['a failure of the first reading', [new CommandError('no daemon')], 'no daemon'],
  ['an error of the program', [{ text: 'a\n' }, new TypeError('x')], 'x'],
])('%s ends it', async (_what, outputs, message) => {
  const { done, next } = watching(outputs);
  const failure = done.catch((error: unknown) => String(error));
  await next();
  expect(await failure).toContain(message);
});
