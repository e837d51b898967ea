import { expect, test } from 'vitest';
import { newestBudget, type BudgetRaise } from '#foundation/domain/known-budget.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ASSERTED = Date.UTC(2026, 10, 1);
const asserted = { knownUsd: 100, assertedOn: ASSERTED, maxAge: 10 * DAY };
const raise = (at: number, toUsd: number, outcome?: string): BudgetRaise => ({
  at,
  fromUsd: toUsd - 20,
  toUsd,
  ...(outcome !== undefined && { outcome }),
});
/** The last time before the asserted day, and the first after it, in every time zone. */
const BEFORE = ASSERTED - 14 * HOUR - 1;
const AFTER = ASSERTED + 36 * HOUR;
const OF_CONFIGURATION = { knownUsd: 100, origin: 'configuration', assertedAt: ASSERTED, maxAgeMs: 10 * DAY };

const ofLedger = (knownUsd: number, assertedAt: number) =>
  ({ knownUsd, origin: 'ledger', assertedAt, maxAgeMs: 10 * DAY }) as const;

test.each([
  ['nothing', undefined, [], undefined],
  ['an assertion', asserted, [], OF_CONFIGURATION],
  ['one without a day', { knownUsd: 100, maxAge: DAY }, [], { knownUsd: 100, origin: 'configuration', maxAgeMs: DAY }],
  ['no limit', { ...asserted, knownUsd: 0 }, [], { ...OF_CONFIGURATION, knownUsd: Infinity }],
  [
    'a later raise',
    asserted,
    [raise(ASSERTED, 120, 'accepted')],
    { knownUsd: 120, origin: 'ledger', assertedAt: ASSERTED, maxAgeMs: 10 * DAY },
  ],
  ['an earlier raise', asserted, [raise(BEFORE, 120, 'verified')], OF_CONFIGURATION],
  ['an earlier raise that nobody knows of', asserted, [raise(BEFORE, 120, 'unknown')], OF_CONFIGURATION],
  [
    'a raise that was earlier in one zone alone',
    asserted,
    [raise(BEFORE + 1, 120, 'accepted')],
    ofLedger(120, BEFORE + 1),
  ],
  ['a raise of the day to less than asserted', asserted, [raise(ASSERTED + 1, 80, 'unknown')], OF_CONFIGURATION],
  ['a raise of the next day to less than asserted', asserted, [raise(AFTER, 80, 'accepted')], ofLedger(80, AFTER)],
  [
    'the last of two',
    asserted,
    [raise(ASSERTED + 1, 120, 'verified'), raise(ASSERTED + 2, 140, 'confirmed_applied')],
    { knownUsd: 140, origin: 'ledger', assertedAt: ASSERTED + 2, maxAgeMs: 10 * DAY },
  ],
  [
    'a raise alone',
    undefined,
    [raise(7, 120, 'verified')],
    { knownUsd: 120, origin: 'ledger', assertedAt: 7, maxAgeMs: 45 * DAY },
  ],
] as const)('%s', (_what, assertion, raises, known) => {
  expect(newestBudget(assertion, raises)).toEqual(known);
});

test.each(['unknown', 'unresolvable', undefined])(
  'after a raise whose outcome is %s the budget is unknown',
  (outcome) => {
    const raises = [raise(ASSERTED + 1, 120, 'verified'), raise(ASSERTED + 2, 140, outcome)];
    expect(newestBudget(asserted, raises)).toBeUndefined();
  },
);
