/** The end of a generation, before another one begins. */
import { expect, test } from 'vitest';
import { endGeneration } from '#app/generations.ts';

/** A generation whose work continues after its stop has timed out. */
function world() {
  const happened: string[] = [];
  const run = Promise.withResolvers<void>();
  const command = Promise.withResolvers<void>();
  const stop = new AbortController();
  const step = (name: string) => async () => void happened.push(name);
  const old = {
    stop: step('stopped'),
    idle: () => run.promise,
    release: step('released'),
    accounts: { closed: step('closed') },
  };
  const commands = { ended: command.promise, [Symbol.dispose]: () => undefined };
  const ended = endGeneration(old, commands, stop.signal).then(() => void happened.push('ended'));
  return { happened, run, command, stop, ended };
}

test('another generation begins after the last run and the last command, however long they take', async () => {
  const { happened, run, command, ended } = world();
  await new Promise(setImmediate);
  expect(happened).toEqual(['stopped']);
  run.resolve();
  await new Promise(setImmediate);
  expect(happened).toEqual(['stopped']);
  command.resolve();
  await ended;
  expect(happened).toEqual(['stopped', 'released', 'closed', 'ended']);
});

test('a signal ends the wait for a run that hangs', async () => {
  const { happened, stop, ended } = world();
  stop.abort(new Error('stopped by SIGTERM'));
  await ended;
  expect(happened).toEqual(['stopped', 'ended']);
});
