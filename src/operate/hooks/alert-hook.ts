/**
 * Alertmanager's webhook, version 4. Hook, fingerprint and start identify an alert. Its first firing triggers the
 * policies that name it; repeats and its end are only recorded. An alert concerns only the account in its label.
 */
import { z } from 'zod';
import type { Trigger } from '#foundation/domain/plan.ts';
import { malformed } from './hook-json.ts';
import type { HookDeps } from './hook-deps.ts';

/** Maximum number of alerts. Alertmanager's `max_alerts` limits the size of a notification. */
const MAX_ALERTS = 1_000;
/** Number of alerts, each a commit, between two yields to the event loop. */
const AT_ONCE = 20;

const notification = z.object({ version: z.literal('4'), alerts: z.array(z.unknown()).max(MAX_ALERTS) });

const alert = z.object({
  status: z.enum(['firing', 'resolved']),
  labels: z.object({ alertname: z.string().min(1).max(1_024), account: z.string().max(1_024).exactOptional() }),
  startsAt: z.iso.datetime({ offset: true }),
  fingerprint: z.string().regex(/^[\w-]{1,128}$/),
});

/**
 * @param hook its name, and the accounts of alerts without a label `account`
 * @throws {HttpError} 400
 */
export async function takeAlerts(
  deps: HookDeps,
  { receiver, withoutAccount }: { readonly receiver: string; readonly withoutAccount: readonly string[] },
  value: unknown,
): Promise<void> {
  const sent = notification.safeParse(value);
  if (!sent.success) {
    throw malformed(
      `The body must be a notification of Alertmanager's webhook, version 4, of at most ${MAX_ALERTS} alerts.`,
    );
  }
  const read = sent.data.alerts.map((row) => alert.safeParse(row));
  const alerts = read.flatMap(({ data }) => (data === undefined ? [] : [data]));
  if (alerts.length === 0 && read.length > 0) {
    throw malformed('Each alert must have a status, an alertname, a fingerprint and a start.');
  }
  /** Runs to start: each policy runs once for all alerts of a notification. */
  const runs = new Map<string, Trigger>();
  for (const [index, { status, labels, startsAt, fingerprint }] of alerts.entries()) {
    if (index > 0 && index % AT_ONCE === 0) await new Promise(setImmediate);
    const name = labels.alertname;
    const key = `${receiver}/${fingerprint}/${new Date(startsAt).toISOString()}`;
    const isFiring = status === 'firing';
    const at = deps.clock.now();
    const accounts = accountsOf(labels.account, withoutAccount);
    const isNew = await deps.ledger.noteAlert({ receiver, name, key, ...(accounts && { accounts }), isFiring, at });
    if (!isFiring) continue;
    const named = deps.policies().filter(({ when }) => 'alert' in when && when.alert === name);
    if (accounts === undefined && isNew && named.length > 0)
      deps.events.emit({ type: 'alert.unassigned', receiver, name });
    for (const { name: policy, account } of named) {
      if (accounts?.includes(account) !== true) continue;
      const trigger = { kind: 'alert', name, key } as const;
      if (!(await deps.ledger.recordTrigger({ policy, account, trigger, at }))) continue;
      if (!runs.has(policy)) runs.set(policy, trigger);
    }
  }
  const firing = alerts.filter(({ status }) => status === 'firing').length;
  deps.events.emit({
    type: 'alerts.received',
    receiver,
    firing,
    resolved: alerts.length - firing,
    dropped: read.length - alerts.length,
  });
  for (const [policy, trigger] of runs) deps.run(policy, trigger);
}

/** Accounts of an alert; undefined if unknown. An empty label counts as absent, as in Prometheus. */
function accountsOf(label: string | undefined, withoutAccount: readonly string[]): readonly string[] | undefined {
  if (label !== undefined && label !== '') return [label];
  return withoutAccount.length > 0 ? withoutAccount : undefined;
}
