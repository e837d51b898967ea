/**
 * Compiles settings to a policy: fills in every default, compiles every expression, and limits what the policy may do.
 */
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { NonEmptyTexts, PruneFilter, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import {
  ACCOUNT_BUDGET,
  DEAD_LETTER,
  PRECONDITION,
  WORKFLOW_ENTRY,
  type ExpressionEnvironment,
} from './environments.ts';
import { compileExpression } from './expression.ts';
import type {
  BudgetPolicy,
  MessageDeletePolicy,
  Policy,
  PolicyLimits,
  PolicyWhen,
  Precondition,
  PrunePolicy,
  ResumePolicy,
  Where,
  WorkflowDeletePolicy,
} from './policy.ts';
import { scopeOf } from './policy-scope.ts';
import { isOf, type PolicySettings, type SettingsOf } from './settings.ts';
import { daysOf, minutesOf } from './window.ts';

const MINUTE_MS = 60_000;
/** Default intervals: repairs run often, since the budget changes slowly. */
const EVERY_MS = { 'workflow-dlq.resume': 5 * MINUTE_MS, 'budget.raise': 15 * MINUTE_MS } as const;

/**
 * @param source `file:line`, for messages
 * @throws {Error} if an expression does not compile; the configuration check reports this first, with its place
 */
export function compilePolicy(settings: PolicySettings, source: string): Policy {
  if (isOf(settings, 'workflow-dlq.resume')) return resumePolicy(settings, source);
  if (isOf(settings, 'workflow-dlq.delete')) return workflowDeletePolicy(settings, source);
  if (isOf(settings, 'message-dlq.delete')) return messageDeletePolicy(settings, source);
  if (isOf(settings, 'message-dlq.prune')) return prunePolicy(settings, source);
  return budgetPolicy(settings, source);
}

function resumePolicy(settings: SettingsOf<'workflow-dlq.resume'>, source: string): ResumePolicy {
  const { action, limits, ramp, select } = settings;
  const { enabled, key = `opsd-${settings.name}`, period, ...flowControl } = action.flowControlIfAbsent;
  return {
    ...baseOf(settings, source),
    action: {
      type: action.type,
      retries: action.retries,
      ...(enabled && { flowControlIfAbsent: { key, ...flowControl, period: period / 1_000 } }),
    },
    where: whereOf(settings, source, WORKFLOW_ENTRY),
    filter: (now) => workflowFilter(select, now),
    failureFunctionStates: select.failureFunctionState ?? [],
    ramp,
    limits: {
      maxMatched: limits.maxMatched,
      onTrip: limits.onTrip,
      maxMatchedShare: 1,
      ...capsOf(limits),
      attempts: limits.attempts,
      probationRuns: 0,
    },
  };
}

function workflowDeletePolicy(settings: SettingsOf<'workflow-dlq.delete'>, source: string): WorkflowDeletePolicy {
  const { type, archive, grace } = settings.action;
  return {
    ...baseOf(settings, source),
    action: { type, archive, grace },
    where: whereOf(settings, source, WORKFLOW_ENTRY),
    filter: (now) => workflowFilter(settings.select, now),
    limits: deleteLimits(settings.limits),
  };
}

function messageDeletePolicy(settings: SettingsOf<'message-dlq.delete'>, source: string): MessageDeletePolicy {
  const { select } = settings;
  return {
    ...baseOf(settings, source),
    action: settings.action,
    where: whereOf(settings, source, DEAD_LETTER),
    missed: (deadLetter, now) => missedByDeadLetter(select, deadLetter, now),
    limits: deleteLimits(settings.limits),
  };
}

function prunePolicy(settings: SettingsOf<'message-dlq.prune'>, source: string): PrunePolicy {
  const { limits, select } = settings;
  return {
    ...baseOf(settings, source),
    action: settings.action,
    filter: (now) => pruneFilter(select, now),
    limits: {
      // A prune lists nothing, so the matched limit is that of one run.
      maxMatched: limits.maxPerRun,
      maxMatchedShare: 1,
      onTrip: 'abort',
      ...capsOf(limits),
      attempts: NO_ATTEMPTS,
      probationRuns: limits.probation.runs,
    },
  };
}

function budgetPolicy(settings: SettingsOf<'budget.raise'>, source: string): BudgetPolicy {
  const { type, step, ceilingUsd, confirm } = settings.action;
  const { minInterval, maxPerMonth, maxRaisePerMonthUsd } = settings.limits;
  return {
    ...baseOf(settings, source),
    action: { type, step, ceilingUsd, confirm },
    where: whereOf(settings, source, ACCOUNT_BUDGET),
    limits: {
      maxMatched: 1,
      maxMatchedShare: 1,
      onTrip: 'abort',
      maxPerRun: 1,
      maxPerHour: 1,
      maxPerDay: maxPerMonth,
      minInterval,
      maxPerMonth,
      maxRaisePerMonthUsd,
      attempts: NO_ATTEMPTS,
      probationRuns: 0,
    },
  };
}

/**
 * Attempts apply to resumes only; the claim prevents a second action of other types. Rejected entries back off, so that
 * others come first.
 */
const NO_ATTEMPTS: PolicyLimits['attempts'] = { max: 20, backoff: [10 * MINUTE_MS, 60 * MINUTE_MS, 360 * MINUTE_MS] };

function baseOf(settings: PolicySettings, source: string) {
  const { name, account, owner, description, mode, windows, preconditions } = settings;
  return {
    name,
    account,
    ...(owner !== undefined && { owner }),
    ...(description !== undefined && { description }),
    source,
    mode,
    when: whenOf(settings),
    windows: windows.map(({ days, from, to, timezone }) => ({
      days: daysOf(days)!,
      from: minutesOf(from)!,
      to: minutesOf(to)!,
      timezone,
    })),
    preconditions: preconditions.map(({ name: what, expr }, index): Precondition => ({
      ...compiled(expr, PRECONDITION, `${source}: policy ${name}: preconditions[${index}].expr`),
      name: what,
    })),
    scope: { ...scopeOf(settings) },
  };
}

function whenOf(settings: PolicySettings): PolicyWhen {
  const { every, schedule, timezone = 'UTC', on } = settings;
  const timer = schedule === undefined ? every !== undefined && { every } : { cron: schedule, timezone };
  if (on?.alert !== undefined) return { ...timer, alert: on.alert };
  if (on?.failureCallback !== undefined) return { ...timer, failureCallback: true };
  if (timer !== false) return timer;
  const fallback = EVERY_MS[settings.action.type as keyof typeof EVERY_MS];
  return on?.hand !== undefined || fallback === undefined ? { byHand: true } : { every: fallback };
}

function whereOf<Facts>(
  settings: { readonly name: string; readonly where: string },
  source: string,
  environment: ExpressionEnvironment<Facts>,
): Where<Facts> {
  return compiled(settings.where, environment, `${source}: policy ${settings.name}: where`);
}

function compiled<Facts>(text: string, environment: ExpressionEnvironment<Facts>, place: string): Where<Facts> {
  const result = compileExpression(text, environment);
  if (!result.ok) throw new Error(`${place}: ${result.message}`);
  return result;
}

interface Caps {
  readonly maxPerRun: number;
  readonly maxPerHour: number;
  readonly maxPerDay: number;
  readonly minInterval?: number;
}

function capsOf({ maxPerRun, maxPerHour, maxPerDay, minInterval = 0 }: Caps) {
  return { maxPerRun, maxPerHour, maxPerDay, minInterval };
}

function deleteLimits(limits: SettingsOf<'workflow-dlq.delete' | 'message-dlq.delete'>['limits']): PolicyLimits {
  const { maxMatched, maxMatchedShare, onTrip, probation } = limits;
  return {
    maxMatched,
    maxMatchedShare,
    onTrip,
    ...capsOf(limits),
    attempts: NO_ATTEMPTS,
    probationRuns: probation.runs,
  };
}

function workflowFilter(select: SettingsOf<'workflow-dlq.resume'>['select'], now: number): WorkflowDlqSelection {
  return {
    ...times(select, now),
    ...listed('label', select.anyLabel),
    ...listed('workflowUrl', select.workflowUrl),
    ...listed('flowControlKey', select.flowControlKey),
    ...listed('failureFunctionState', select.failureFunctionState),
    ...listed('callerIp', select.callerIp),
  };
}

function pruneFilter(select: SettingsOf<'message-dlq.prune'>['select'], now: number): PruneFilter {
  const [status, ...statuses] = select.responseStatus ?? [];
  return {
    ...times(select, now),
    toDate: now - select.failedBefore,
    ...listed('url', select.url),
    ...listed('topicName', select.topicName),
    ...listed('scheduleId', select.scheduleId),
    ...listed('queueName', select.queueName),
    ...listed('label', select.anyLabel),
    ...listed('flowControlKey', select.flowControlKey),
    ...listed('callerIp', select.callerIp),
    ...(status !== undefined && { responseStatus: [status, ...statuses] }),
  };
}

/** Key of `select` that a dead letter does not meet. A missing field does not meet a filter. */
function missedByDeadLetter(
  select: SettingsOf<'message-dlq.delete'>['select'],
  deadLetter: DeadLetter,
  now: number,
): string | undefined {
  const { fromDate = -Infinity, toDate = Infinity } = times(select, now);
  if (deadLetter.learnedAt < fromDate) return 'failedWithin';
  if (deadLetter.learnedAt > toDate) return 'failedBefore';
  const is = <T>(wanted: readonly T[] | undefined, ...values: readonly (T | undefined)[]): boolean =>
    wanted === undefined || values.some((value) => value !== undefined && wanted.includes(value));
  const meets = {
    anyLabel: select.anyLabel === undefined || sharedLabel(deadLetter.labels, select.anyLabel) !== undefined,
    url: is(select.url, deadLetter.url),
    topicName: is(select.topicName, deadLetter.topicName),
    scheduleId: is(select.scheduleId, deadLetter.scheduleId),
    responseStatus: is(select.responseStatus, deadLetter.status),
  };
  return Object.entries(meets).find(([, isMet]) => !isMet)?.[0];
}

function times(select: { readonly failedWithin?: number; readonly failedBefore?: number }, now: number) {
  return {
    ...(select.failedWithin !== undefined && { fromDate: now - select.failedWithin }),
    ...(select.failedBefore !== undefined && { toDate: now - select.failedBefore }),
  };
}

/** A filter, or no key at all: the service treats an empty list as no filter. */
function listed<K extends string>(key: K, values: readonly string[] | undefined): Partial<Record<K, NonEmptyTexts>> {
  const [first, ...rest] = values ?? [];
  const filter: Partial<Record<string, NonEmptyTexts>> = first === undefined ? {} : { [key]: [first, ...rest] };
  return filter;
}
