/**
 * Environments of expressions, by resource: the variables with their fields, and the facts that only preconditions may
 * call. Values are passed as numbers and strings and converted to the expression language's types.
 */
import { CANARY_VERDICTS } from '#foundation/domain/canary.ts';
import { BUDGET_ORIGINS, type BudgetFacts, type KnownBudget } from '#foundation/domain/known-budget.ts';
import { TRIGGER_KINDS } from '#foundation/domain/plan.ts';
import {
  always,
  DEAD_LETTER_FIELDS,
  ENTRY_FIELDS,
  maybe,
  oneOfField,
  type DeadLetterFacts,
  type WorkflowEntryFacts,
  type FactField,
} from './entry-facts.ts';
import type { PreconditionFacts } from './facts.ts';

export type Fields = Readonly<Record<string, FactField>>;
/** Values of fields. Times are epoch milliseconds, durations milliseconds. A missing field is absent. */
export type FieldValues = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface ExpressionEnvironment<Facts> {
  readonly name: 'workflow-dlq' | 'message-dlq' | 'budget' | 'precondition';
  /** An expression must read at least one of these variables. Without variables, it must call a fact. */
  readonly variables: Readonly<Record<string, Fields>>;
  /** True if expressions may call facts. */
  readonly hasFacts: boolean;
  valuesOf(facts: Facts): Readonly<Record<string, FieldValues>>;
  /** Source of the fact functions. */
  factsOf(facts: Facts): PreconditionFacts | undefined;
}

/** Fields of `trigger`, available in every expression: the reason for the run. */
export const TRIGGER_FIELDS: Fields = { kind: oneOfField(TRIGGER_KINDS), name: maybe('string') };

/**
 * Fields that may be unknown but need no `has()`. A comparison with an unknown value fails, and `||` ignores that
 * failure if its other side is true.
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
  origin: oneOfField(BUDGET_ORIGINS),
  assertedAt: always('google.protobuf.Timestamp'),
};

const none = (): undefined => undefined;

export const WORKFLOW_ENTRY: ExpressionEnvironment<WorkflowEntryFacts> = {
  name: 'workflow-dlq',
  variables: { entry: ENTRY_FIELDS },
  hasFacts: false,
  valuesOf: ({ ageMs, expiresInMs, ...entry }) => ({ entry: { ...entry, age: ageMs, expiresIn: expiresInMs } }),
  factsOf: none,
};

export const DEAD_LETTER: ExpressionEnvironment<DeadLetterFacts> = {
  name: 'message-dlq',
  variables: { entry: DEAD_LETTER_FIELDS },
  hasFacts: false,
  valuesOf: ({ ageMs, learnedAt, ...deadLetter }) => ({ entry: { ...deadLetter, age: ageMs, failedAt: learnedAt } }),
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

/** Environment of each action's `where`. A prune has none, since it lists no entries. */
export const WHERE_ENVIRONMENTS = {
  'workflow-dlq.resume': WORKFLOW_ENTRY,
  'workflow-dlq.delete': WORKFLOW_ENTRY,
  'message-dlq.delete': DEAD_LETTER,
  'budget.raise': ACCOUNT_BUDGET,
} as const;

interface FactFunction {
  /** Strings are passed unchanged, durations as milliseconds. */
  readonly signature: string;
  /** All values of a text; absent if any value is possible. */
  readonly values?: readonly string[];
}

export const FACT_FUNCTIONS: Readonly<Record<keyof PreconditionFacts, FactFunction>> = {
  successRatio: { signature: 'successRatio(string, google.protobuf.Duration): double' },
  sampleSize: { signature: 'sampleSize(string, google.protobuf.Duration): int' },
  arrivals: { signature: 'arrivals(string, google.protobuf.Duration): int' },
  alertFiring: { signature: 'alertFiring(string): bool' },
  flowWaiting: { signature: 'flowWaiting(string): int' },
  flowPaused: { signature: 'flowPaused(string): bool' },
  canary: { signature: 'canary(string): string', values: CANARY_VERDICTS },
  dlqMessages: { signature: 'dlqMessages(): int' },
  dlqFillRatio: { signature: 'dlqFillRatio(): double' },
  policyTripped: { signature: 'policyTripped(string, google.protobuf.Duration): bool' },
};

function pick(values: object, fields: Fields): FieldValues {
  const all = values as FieldValues;
  return Object.fromEntries(Object.keys(fields).map((name) => [name, all[name]]));
}
