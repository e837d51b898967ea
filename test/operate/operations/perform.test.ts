/** What keeps an operation from being sent, apart from its keys: the store, actions in flight, and a lost record. */
import { expect, test } from 'vitest';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { Operations } from '#automate/ledger/operations.ts';
import { performOperation } from '#operate/operations/perform.ts';
import type { AskedOperation, OperationDeps } from '#operate/operations/ports.ts';
import { createTokenFiles } from '#operate/operations/token-file.ts';
import { operationNamed } from '#service/operations.ts';
import { memoryAudit } from '#storage/memory-audit.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { openLedger, type SqliteLedger } from '#storage/sqlite-ledger.ts';
import { NOW, plan, proposal } from '../http/world.ts';

/** An account at a service that accepts everything. */
function world(ledger: SqliteLedger = memoryLedger(), overrides: Partial<Operations> = {}, usedToday = 0) {
  const sent: string[] = [];
  const unrecorded: string[] = [];
  const deps: OperationDeps = {
    accounts: [
      {
        name: 'production',
        hasActionToken: false,
        usage: () => ({ usedToday, allowedPerDay: 100 }),
        raw: {
          check: () => undefined,
          send: ({ name }) => {
            sent.push(name);
            return Promise.resolve({ status: 200, contentType: 'application/json', body: Buffer.from('{}') });
          },
          tryWriter: () => Promise.resolve(),
        },
      },
    ],
    ledger: Object.assign(ledger, overrides),
    clock: new ManualClock(NOW),
    paused: async () => undefined,
    reducedMode: () => undefined,
    budget: async () => undefined,
    onUnrecorded: (message) => void unrecorded.push(message),
    tokenFiles: createTokenFiles(),
  };
  const perform = (name: string, given: AskedOperation['given']) =>
    performOperation(
      operationNamed(name)!,
      { given, isLocal: true, signal: new AbortController().signal, allow: () => ({ by: 'local' }) },
      deps,
    );
  return { perform, sent, unrecorded, ledger };
}

const PUBLISH = { destination: 'http://x.example/', body: 'hello' };

test('a store that only reads sends no write', async () => {
  const { perform, sent } = world(await openLedger(openMemoryStore('x', 'this command only reads'), memoryAudit()));
  await expect(perform('publish', PUBLISH)).rejects.toThrow('this command only reads; nothing was sent');
  await perform('list-url-groups', {});
  expect(sent).toEqual(['list-url-groups']);
});

test('a store that must be adopted sends no bulk call: it may lack claims', async () => {
  const distrusted = memoryLedger('here', {
    ...memoryAudit(),
    opening: { notes: [], distrust: { reason: 'it is an old copy', begins: false } },
  });
  const { perform, sent } = world(distrusted);
  await expect(perform('resume-workflow-dlq', { dlqIds: 'd' })).rejects.toThrow(
    'it is an old copy; `opsd state adopt --reason TEXT` ends this state; nothing was sent',
  );
  await perform('publish', PUBLISH);
  expect(sent).toEqual(['publish']);
});

test('a pause that is stored after the check keeps a bulk call from being sent', async () => {
  const { perform, sent, ledger } = world();
  await ledger.pause({ scope: 'engine', reason: 'release night', at: NOW, by: 'kim' });
  await expect(perform('resume-workflow-dlq', { dlqIds: 'd' })).rejects.toThrow(
    'resume-workflow-dlq: the engine is paused: release night; nothing was sent',
  );
  await perform('publish', PUBLISH);
  expect(sent).toEqual(['publish']);
});

test('a bulk call by filter waits for the actions of policies in flight', async () => {
  const { perform, sent, ledger } = world();
  const reserved = await ledger.reserve(await ledger.beginRun(plan(), NOW), proposal(), NOW, []);
  await expect(perform('resume-workflow-dlq', { label: 'billing' })).rejects.toThrow(
    /a policy acts on account production/,
  );
  expect(sent).toEqual([]);
  if (reserved.ok) await ledger.recordOutcome(reserved.intent.id, 'production', { at: NOW, outcome: 'accepted' });
  await perform('resume-workflow-dlq', { label: 'billing' });
  expect(sent).toEqual(['resume-workflow-dlq']);
});

test('reads leave a tenth of the daily budget for collectors and policies', async () => {
  await world(memoryLedger(), {}, 89).perform('list-url-groups', {});
  const { perform, sent } = world(memoryLedger(), {}, 90);
  await expect(perform('list-url-groups', {})).rejects.toThrow(/90 of 100 requests of this UTC day are used/);
  await perform('publish', PUBLISH);
  expect(sent).toEqual(['publish']);
});

test('a lost end of an operation is reported, and does not hide the response', async () => {
  const { perform, unrecorded } = world(memoryLedger(), {
    endOperation: async () => {
      throw new Error('disk full');
    },
  });
  expect((await perform('publish', PUBLISH)).answer.status).toBe(200);
  expect(unrecorded).toEqual(['disk full']);
});

test('an account operation needs an id if none is configured', async () => {
  const { perform } = world();
  await expect(perform('get-account-stats', {})).rejects.toThrow(
    'id is required: account production has no managementApi',
  );
});
