/** Commands of operators during the exchange of the engine. */
import { expect, test } from 'vitest';
import { CommandGate, commandsOf } from '#app/commands.ts';
import type { EngineCommands } from '#automate/ledger/commands.ts';
import type { Engine } from '#automate/engine/engine.ts';

/** Two engines. The second one replaces the first. */
function world() {
  const asked: string[] = [];
  /** Resolves the plan of the first engine. */
  const { promise: underWay, resolve: end } = Promise.withResolvers<void>();
  const engine = (name: string): Engine =>
    ({
      async plan(policy: string, _request: unknown, signal: AbortSignal) {
        asked.push(`${name} plan`);
        if (name === 'old') await underWay;
        signal.throwIfAborted();
        return { ok: true, plan: { policy: `${policy} by ${name}` } };
      },
      async planManually(_request: unknown, signal: AbortSignal) {
        asked.push(`${name} planManually`);
        if (name === 'old') await underWay;
        signal.throwIfAborted();
        return { ok: true, plan: { policy: `manual by ${name}` } };
      },
      async apply(_id: string, _person: unknown, signal: AbortSignal) {
        asked.push(`${name} apply`);
        if (name === 'old') await underWay;
        return { ok: true, result: { outcome: signal.aborted ? 'halted' : 'acted' } };
      },
      approve: () => (asked.push(`${name} approve`), { ok: true }),
      reject: () => (asked.push(`${name} reject`), { ok: true }),
      unpause: () => (asked.push(`${name} unpause`), 1),
      pause: () => void asked.push(`${name} pause`),
    }) as unknown as Engine;
  let present = engine('old');
  const gate = new CommandGate();
  return {
    asked,
    gate,
    end,
    commands: commandsOf(gate, () => present),
    exchange: () => void (present = engine('new')),
  };
}

const REQUEST = { by: 'local', keep: false };
const PERSON = { by: 'local' };
const signal = new AbortController().signal;

test('a command during the exchange is answered by the next engine; a pause does not wait', async () => {
  const { asked, gate, commands, exchange } = world();
  const held = gate.hold(new Error('replaced'));
  await held.ended;
  const waiting = Promise.all([
    commands.plan('p', REQUEST, signal),
    commands.apply('1', PERSON, signal),
    commands.approve('1', PERSON),
    commands.reject('1', PERSON),
    commands.unpause({ reason: 'r', by: 'local' }),
  ]);
  await commands.pause({ reason: 'r', by: 'local' });
  expect(asked).toEqual(['old pause']);
  exchange();
  held[Symbol.dispose]();
  await waiting;
  expect(asked.slice(1)).toEqual(['new plan', 'new apply', 'new approve', 'new reject', 'new unpause']);
});

test('an apply in progress is aborted and awaited: the next engine begins after its end', async () => {
  const { gate, end, commands } = world();
  const applied = commands.apply('1', PERSON, signal);
  await Promise.resolve();
  const held = gate.hold(new Error('replaced'));
  let hasEnded = false;
  void held.ended.then(() => (hasEnded = true));
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  end();
  await held.ended;
  held[Symbol.dispose]();
  expect(await applied).toEqual({ ok: true, result: { outcome: 'halted' } });
});

test.each([
  ['plan', (commands: EngineCommands) => commands.plan('p', REQUEST, signal), 'p by new'],
  [
    'planManually',
    (commands: EngineCommands) =>
      commands.planManually({ by: 'local', reason: 'r', selection: { action: 'resume' } }, signal),
    'manual by new',
  ],
] as const)('a %s in progress is repeated by the next engine', async (name, plan, policy) => {
  const { asked, gate, end, commands, exchange } = world();
  const planned = plan(commands);
  await Promise.resolve();
  const held = gate.hold(new Error('replaced'));
  end();
  await held.ended;
  exchange();
  held[Symbol.dispose]();
  expect(await planned).toEqual({ ok: true, plan: { policy } });
  expect(asked).toEqual([`old ${name}`, `new ${name}`]);
});

test('a caller who goes away gets no response, whether the command waits or is under way', async () => {
  const { asked, gate, commands } = world();
  const gone = new AbortController();
  const held = gate.hold(new Error('replaced'));
  const waiting = commands.plan('p', REQUEST, gone.signal);
  gone.abort(new Error('gone'));
  held[Symbol.dispose]();
  await expect(waiting).rejects.toThrow('gone');
  expect(asked).toEqual([]);
});
