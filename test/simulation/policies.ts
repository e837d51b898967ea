/** Policies of the simulated daemon: each action, trigger and mode. Each acts on messages with a label of its own. */
import { STAGING } from './staging.ts';

interface Caps {
  readonly hour: number;
  readonly day: number;
}

interface SimPolicy {
  /** False if only an event starts it. */
  readonly isScheduled: boolean;
  readonly mode?: 'approve';
  /** The other account, which most histories do not have. */
  readonly account?: 'staging';
  readonly caps?: Caps;
  /** Its remaining keys, with its limits other than the caps. */
  readonly text: string;
  readonly limits?: string;
}

/** Limits of the budget, in dollars. */
export const BUDGET = { knownUsd: 20, ceilingUsd: 600, perMonth: 6 } as const;
export const ALERT = 'BillingDown';

const RUNS = (label: string): string => `select: { resource: workflow-dlq, anyLabel: [${label}] }`;
const MESSAGES = (label: string): string => `select: { resource: message-dlq, anyLabel: [${label}] }`;
const RESUME = 'action: { type: workflow-dlq.resume, retries: 0 }, ramp: { start: 2, settle: 1m }';
const REPUBLISH = 'action: { type: message-dlq.republish, retries: 0 }, ramp: { start: 2, settle: 1m }';
const ATTEMPTS = 'attempts: { max: 2, backoff: [1m] }';

export const POLICIES: Readonly<Record<string, SimPolicy>> = {
  'resume-billing': {
    isScheduled: true,
    caps: { hour: 6, day: 60 },
    text: `${RUNS('billing')}, where: '!(has(entry.status) && entry.status == 404)', ${RESUME}`,
    limits: ATTEMPTS,
  },
  'delete-gone': {
    isScheduled: true,
    caps: { hour: 2, day: 20 },
    text: `${RUNS('billing')}, where: 'has(entry.status) && entry.status == 404',
      action: { type: workflow-dlq.delete, archive: { dir: archive }, grace: 1h }`,
    limits: 'maxMatchedShare: 1',
  },
  'delete-newsletter': {
    isScheduled: true,
    caps: { hour: 2, day: 20 },
    text: `${MESSAGES('newsletter')}, where: '"newsletter" in entry.labels', action: { type: message-dlq.delete }`,
    limits: 'maxMatchedShare: 1',
  },
  'resume-payroll': {
    isScheduled: false,
    caps: { hour: 4, day: 40 },
    text: `on: { alert: ${ALERT} }, ${RUNS('payroll')}, ${RESUME}`,
    limits: ATTEMPTS,
  },
  'resume-refunds': {
    isScheduled: true,
    mode: 'approve',
    caps: { hour: 4, day: 40 },
    text: `${RUNS('refunds')}, ${RESUME}`,
    limits: ATTEMPTS,
  },
  'republish-orders': {
    isScheduled: true,
    caps: { hour: 6, day: 60 },
    text: `on: { failureCallback: true }, ${MESSAGES('orders')}, ${REPUBLISH}`,
    limits: ATTEMPTS,
  },
  'republish-invoices': {
    isScheduled: false,
    caps: { hour: 6, day: 60 },
    text: `on: { deploy: true, after: 1m }, ${MESSAGES('invoices')}, ${REPUBLISH}`,
    limits: ATTEMPTS,
  },
  'prune-bulk': {
    isScheduled: true,
    caps: { hour: 6, day: 60 },
    text: `select: { resource: message-dlq, anyLabel: [bulk], failedBefore: 1h }, action: { type: message-dlq.prune }`,
    limits: 'maxPerRun: 3, probation: { runs: 1 }',
  },
  'resume-staging': {
    isScheduled: true,
    account: STAGING.name,
    caps: { hour: 4, day: 40 },
    text: `${RUNS('staging')}, ${RESUME}`,
    limits: ATTEMPTS,
  },
  'raise-budget': {
    isScheduled: true,
    text: `select: { resource: account-budget }, where: spend.monthUsd >= 0.02 * double(budget.knownUsd),
      action: { type: budget.raise, step: { percent: 100 }, ceilingUsd: ${BUDGET.ceilingUsd},
        confirm: { readings: 2, apart: 5m } }`,
    limits: `minInterval: 1h, maxPerMonth: ${BUDGET.perMonth}, maxRaisePerMonthUsd: ${BUDGET.ceilingUsd}`,
  },
};

/** @param caps fewer than those of the table, if the configuration was changed */
export function policyText(name: string, every: () => string, caps = POLICIES[name]!.caps): string {
  const { isScheduled, mode = 'enforce', account = 'production', text, limits } = POLICIES[name]!;
  const parts = [
    `name: ${name}, account: ${account}, mode: ${mode}`,
    ...(isScheduled ? [`every: ${every()}`] : []),
    text,
    `limits: { ${[caps && `maxPerHour: ${caps.hour}, maxPerDay: ${caps.day}`, limits].filter(Boolean).join(', ')} }`,
  ];
  return `  - { ${parts.join(', ')} }`;
}
