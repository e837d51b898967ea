/**
 * What expressions see, by what they are about: the variables with their fields, and the facts that preconditions
 * alone may ask for. Values go in as numbers and text, and are the language's own types inside.
 */
import { BUDGET_ORIGINS } from '#foundation/domain/known-budget.ts';
import { TRIGGER_KINDS } from '#foundation/domain/plan.ts';
import { ENTRY_FIELDS, type EntryFacts } from './entry-facts.ts';
import { always, maybe, oneOf, type FactField } from './fact-field.ts';
import { LETTER_FIELDS } from './dead-letter-facts.ts';
import type { BudgetFacts, KnownBudget, PreconditionFacts } from './facts.ts';
import type { DeadLetterFacts } from './policy.ts';

export type Fields = Readonly<Record<string, FactField>>;
/** Times are epoch milliseconds, durations milliseconds; a field that is missing is absent. */
export type FieldValues = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface ExpressionEnvironment<Facts> {
  readonly name: 'workflow-dlq' | 'message-dlq' | 'budget' | 'precondition';
  /** Of these an expression must read at least one; without any, one of the facts. */
  readonly variables: Readonly<Record<string, Fields>>;
  /** Facts may be asked. */
  readonly hasFacts: boolean;
  valuesOf(facts: Facts): Readonly<Record<string, FieldValues>>;
  /** What the fact functions answer from. */
  factsOf(facts: Facts): PreconditionFacts | undefined;
}

/** `trigger`, in every expression: why the policy runs. */
export const TRIGGER_FIELDS: Fields = { kind: oneOf(TRIGGER_KINDS), name: maybe('string') };

/**
 * Fields may be unknown and need no `has()`: a comparison with what is not known fails, and `||` passes over it where
 * its other side holds.
 */
const SPEND_FIELDS: Fields = {
  monthUsd: always('double'),
  last24hUsd: always('double'),
  medianDayUsd: always('double'),
  forecastMonthUsd: always('double'),
  hoursLeft: always('double'),
  fresh: always('bool'),
};
const BUDGET_FIELDS: Fields = {
  knownUsd: always('int'),
  origin: oneOf(BUDGET_ORIGINS),
  assertedAt: always('google.protobuf.Timestamp'),
};

const none = (): undefined => undefined;

export const WORKFLOW_ENTRY: ExpressionEnvironment<EntryFacts> = {
  name: 'workflow-dlq',
  variables: { entry: ENTRY_FIELDS },
  hasFacts: false,
  valuesOf: ({ ageMs, expiresInMs, ...entry }) => ({ entry: { ...entry, age: ageMs, expiresIn: expiresInMs } }),
  factsOf: none,
};

export const DEAD_LETTER: ExpressionEnvironment<DeadLetterFacts> = {
  name: 'message-dlq',
  variables: { entry: LETTER_FIELDS },
  hasFacts: false,
  valuesOf: ({ ageMs, learnedAt, ...letter }) => ({ entry: { ...letter, age: ageMs, failedAt: learnedAt } }),
  factsOf: none,
};

export const ACCOUNT_BUDGET: ExpressionEnvironment<{ readonly spend: BudgetFacts; readonly budget: KnownBudget }> = {
  name: 'budget',
  variables: { spend: SPEND_FIELDS, budget: BUDGET_FIELDS },
  hasFacts: false,
  valuesOf: ({ spend, budget }) => ({
    spend: pick(spend, SPEND_FIELDS),
    budget: pick(budget, BUDGET_FIELDS),
  }),
  factsOf: none,
};

export const PRECONDITION: ExpressionEnvironment<PreconditionFacts> = {
  name: 'precondition',
  variables: {},
  hasFacts: true,
  valuesOf: () => ({}),
  factsOf: (facts) => facts,
};

/** The environment of each action's `where`; a prune has none, since its entries go unseen. */
export const WHERE_ENVIRONMENTS = {
  'workflow-dlq.resume': WORKFLOW_ENTRY,
  'workflow-dlq.delete': WORKFLOW_ENTRY,
  'message-dlq.delete': DEAD_LETTER,
  'budget.raise': ACCOUNT_BUDGET,
} as const;

type Answer = number | boolean | undefined;

interface FactFunction {
  readonly signature: string;
  /** Text as it is, durations as milliseconds. */
  readonly ask: (facts: PreconditionFacts, first: string, windowMs: number) => Answer;
}

export const FACT_FUNCTIONS: Readonly<Record<keyof PreconditionFacts, FactFunction>> = {
  successRatio: {
    signature: 'successRatio(string, google.protobuf.Duration): double',
    ask: (facts, host, window) => facts.successRatio(host, window),
  },
  sampleSize: {
    signature: 'sampleSize(string, google.protobuf.Duration): int',
    ask: (facts, host, window) => facts.sampleSize(host, window),
  },
  arrivals: {
    signature: 'arrivals(string, google.protobuf.Duration): int',
    ask: (facts, label, window) => facts.arrivals(label, window),
  },
  alertFiring: { signature: 'alertFiring(string): bool', ask: (facts, name) => facts.alertFiring(name) },
  flowWaiting: { signature: 'flowWaiting(string): int', ask: (facts, key) => facts.flowWaiting(key) },
  flowPaused: { signature: 'flowPaused(string): bool', ask: (facts, key) => facts.flowPaused(key) },
  dlqMessages: { signature: 'dlqMessages(): int', ask: (facts) => facts.dlqMessages() },
  dlqFillRatio: { signature: 'dlqFillRatio(): double', ask: (facts) => facts.dlqFillRatio() },
  policyTripped: {
    signature: 'policyTripped(string, google.protobuf.Duration): bool',
    ask: (facts, glob, window) => facts.policyTripped(glob, window),
  },
};

function pick(values: object, fields: Fields): FieldValues {
  const all = values as FieldValues;
  return Object.fromEntries(Object.keys(fields).map((name) => [name, all[name]]));
}
