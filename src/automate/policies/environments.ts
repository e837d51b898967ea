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
  deadLetterField,
  ENTRY_FIELDS,
  entryField,
  maybe,
  oneOfField,
  type DeadLetterFacts,
  type WorkflowEntryFacts,
  type FactField,
  type FieldValue,
} from './entry-facts.ts';
import type { PreconditionFacts } from './facts.ts';

export type Fields = Readonly<Record<string, FactField>>;

export interface ExpressionEnvironment<Facts> {
  readonly name: 'workflow-dlq' | 'message-dlq' | 'budget' | 'precondition';
  /** An expression must read at least one of these variables. Without variables, it must call a fact. */
  readonly variables: Readonly<Record<string, Fields>>;
  /** Returns the value of a field of a variable. */
  valueOf(facts: Facts, variable: string, field: string): FieldValue;
  /** Source of the fact functions; absent if expressions must not call facts. */
  factsOf?(facts: Facts): PreconditionFacts;
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

export const WORKFLOW_ENTRY: ExpressionEnvironment<WorkflowEntryFacts> = {
  name: 'workflow-dlq',
  variables: { entry: ENTRY_FIELDS },
  valueOf: (facts, _entry, field) => entryField(facts, field),
};

export const DEAD_LETTER: ExpressionEnvironment<DeadLetterFacts> = {
  name: 'message-dlq',
  variables: { entry: DEAD_LETTER_FIELDS },
  valueOf: (facts, _entry, field) => deadLetterField(facts, field),
};

export const ACCOUNT_BUDGET: ExpressionEnvironment<{ readonly spend: BudgetFacts; readonly budget: KnownBudget }> = {
  name: 'budget',
  variables: { spend: SPEND_FIELDS, budget: BUDGET_FIELDS },
  valueOf: (facts, variable, field) => facts[variable as 'spend'][field as 'monthUsd'],
};

export const PRECONDITION: ExpressionEnvironment<PreconditionFacts> = {
  name: 'precondition',
  variables: {},
  valueOf: () => undefined,
  factsOf: (facts) => facts,
};

/** Environment of each action's `where`. A prune has none, since it lists no entries. */
export const WHERE_ENVIRONMENTS = {
  'workflow-dlq.resume': WORKFLOW_ENTRY,
  'workflow-dlq.delete': WORKFLOW_ENTRY,
  'message-dlq.republish': DEAD_LETTER,
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
