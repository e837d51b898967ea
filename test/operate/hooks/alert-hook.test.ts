/** Reports of an alert that are taken at the same time. */
import { expect, test } from 'vitest';
import { EventBus } from '#foundation/events/events.ts';
import { takeAlerts } from '#operate/hooks/alert-hook.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import { memoryLedger } from '#storage/memory-ledger.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
const POLICY = { name: 'resume-billing', account: 'production', when: { alert: 'BillingDown' } };

test('an alert that ends while its begin is stored leaves no trigger for a later report', async () => {
  const ledger = memoryLedger();
  const clock = new ManualClock(NOW);
  const take = async (status: 'firing' | 'resolved'): Promise<void> => {
    const labels = { alertname: 'BillingDown', account: 'production' };
    const alerts = [{ status, labels, startsAt: new Date(NOW).toISOString(), fingerprint: 'f00' }];
    const deps = { ledger, clock, events: new EventBus(), policies: () => [POLICY], run: () => undefined };
    await takeAlerts(deps as never, { receiver: 'opsd', withoutAccount: [] }, { version: '4', alerts });
  };
  await Promise.all([take('firing'), take('resolved')]);
  await take('firing');
  const policies = [{ name: POLICY.name, account: POLICY.account }];
  expect(await ledger.pendingTriggers(policies, NOW)).toEqual(new Map());
});
