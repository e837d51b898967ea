/**
 * Compiles settings to a policy: fills in every default, compiles every expression, and limits what the policy may do.
 */
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { PruneFilter, WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import {
  ACCOUNT_BUDGET,
  DEAD_LETTER,
  PRECONDITION,
  WORKFLOW_ENTRY,
  type ExpressionEnvironment,
} from './environments.ts';
import { compileExpression } from './expression.ts';
import type { MessagePolicy, Policy, PolicyLimits, PolicyWhen, Precondition, Where } from './policy.ts';
import { scopeOf } from './policy-scope.ts';
import { isOf, isOfRepair, repairWhere, type PolicySettings, type SettingsOf } from './settings.ts';
import { daysOf, minutesOf } from './window.ts';

const MINUTE_MS = 60_000;
/** Default time for a new version to start everywhere. */
const AFTER_DEPLOY_MS = 2 * MINUTE_MS;
/** Default intervals: repairs run often, since the budget changes slowly. */
const EVERY_MS = {
  'workflow-dlq.resume': 5 * MINUTE_MS,
  'message-dlq.republish': 5 * MINUTE_MS,
  'budget.raise': 15 * MINUTE_MS,
} as const;

/**
 * @param source `file:line`, for messages
 * @throws {Error} if an expression does not compile; the configuration check reports this first, with its place
 */
export function compilePolicy(settings: PolicySettings, source: string): Policy {
  const base = baseOf(settings, source);
  if (isOf(settings, 'workflow-dlq.resume')) {
    const { action, ramp, select } = settings;
    const { enabled, key = `opsd-${settings.name}`, period, ...flowControl } = action.flowControlIfAbsent;
    return {
      ...base,
      action: {
        type: action.type,
        retries: action.retries,
        flowControlIfAbsent: enabled ? { key, ...flowControl, period: period / 1_000 } : undefined,
      },
      where: whereOf({ ...settings, where: repairWhere(settings) }, source, WORKFLOW_ENTRY),
      filter: filterOf(select),
      failureFunctionStates: select.failureFunctionState ?? [],
      ramp,
    };
  }
  if (isOf(settings, 'workflow-dlq.delete')) {
    const where = whereOf(settings, source, WORKFLOW_ENTRY);
    return { ...base, action: settings.action, where, filter: filterOf(settings.select) };
  }
  if (isOf(settings, 'message-dlq.republish') || isOf(settings, 'message-dlq.delete')) {
    const { action, select } = settings;
    const where = isOf(settings, 'message-dlq.republish') ? repairWhere(settings) : settings.where;
    return {
      ...base,
      action,
      ...('ramp' in settings && { ramp: settings.ramp }),
      where: whereOf({ ...settings, where }, source, DEAD_LETTER),
      missed: (deadLetter, now) => missedByDeadLetter(select, deadLetter, now),
    } as MessagePolicy;
  }
  if (isOf(settings, 'message-dlq.prune')) {
    const { action, select } = settings;
    const filter = filterOf(select);
    return { ...base, action, filter: (now) => ({ ...filter(now), toDate: now - select.failedBefore }) };
  }
  return { ...base, action: settings.action, where: whereOf(settings, source, ACCOUNT_BUDGET) };
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
    owner,
    description,
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
    limits: limitsOf(settings),
    scope: { ...scopeOf(settings) },
  };
}

function whenOf(settings: PolicySettings): PolicyWhen {
  const { every, schedule, timezone = 'UTC', on } = settings;
  const timer = schedule === undefined ? every !== undefined && { every } : { cron: schedule, timezone };
  if (on?.alert !== undefined) return { ...timer, alert: on.alert };
  if (on?.failureCallback !== undefined) return { ...timer, failureCallback: true };
  if (on?.deploy !== undefined) return { ...timer, afterDeploy: on.after ?? AFTER_DEPLOY_MS };
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

function limitsOf(settings: PolicySettings): PolicyLimits {
  const common = { maxMatchedShare: 1, minInterval: settings.limits.minInterval ?? 0, probationRuns: 0 };
  if (isOfRepair(settings)) return { ...settings.limits, ...common };
  if (isOf(settings, 'budget.raise')) {
    const ofRun = { maxMatched: 1, onTrip: 'abort', maxPerRun: 1, maxPerHour: 1, attempts: NO_ATTEMPTS } as const;
    return { ...settings.limits, ...common, ...ofRun, maxPerDay: settings.limits.maxPerMonth };
  }
  const { probation, ...limits } = settings.limits;
  const ofDelete = { ...common, attempts: NO_ATTEMPTS, probationRuns: probation.runs };
  // A prune lists nothing, so the matched limit is that of one run.
  if ('maxMatched' in limits) return { ...ofDelete, ...limits, minInterval: common.minInterval };
  return { ...ofDelete, ...limits, minInterval: common.minInterval, maxMatched: limits.maxPerRun, onTrip: 'abort' };
}

function filterOf(select: Parameters<typeof times>[0]) {
  return (now: number) => ({ ...times(select, now), ...filtersOf(select) });
}

/**
 * Filters of a selection by their names in a request. A filter without values is no key at all: the service treats an
 * empty list as no filter.
 */
function filtersOf(select: object): Omit<WorkflowDlqSelection & PruneFilter, 'fromDate' | 'toDate'> {
  const lists = Object.entries(select).filter(([, values]) => Array.isArray(values) && values.length > 0);
  return Object.fromEntries(lists.map(([key, values]) => [key === 'anyLabel' ? 'label' : key, values as unknown]));
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
