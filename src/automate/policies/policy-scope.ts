/** Scope of a policy: all settings that decide what it is allowed to act on, by the direction that makes them narrower. */
import type { PolicyScope } from './scope.ts';
import { isOf, type PolicySettings } from './settings.ts';

export function scopeOf(settings: PolicySettings): PolicyScope {
  const { failedWithin, failedBefore, ...select } = { ...settings.select } as Selects;
  const lists = Object.entries(select).filter((entry): entry is [string, readonly (string | number)[]] =>
    Array.isArray(entry[1]),
  );
  const isResume = isOf(settings, 'workflow-dlq.resume');
  // A resume skips entries whose failure function ran, unless the selection lists their state: a listed state can widen
  // it.
  const widening = lists.filter(([key]) => isResume && key === 'failureFunctionState');
  const { atMost, atLeast, same } = ownOf(settings);
  return {
    same: {
      account: settings.account,
      action: settings.action.type,
      ...('where' in settings && { where: settings.where.trim() }),
      ...Object.fromEntries(widening.map(([key, values]) => [key, values.map(String).toSorted(byCode).join()])),
      ...same,
    },
    atMost: { ...defined({ failedWithin }), ...atMost },
    atLeast: { ...defined({ failedBefore, minInterval: settings.limits.minInterval }), ...atLeast },
    among: {
      ...Object.fromEntries(
        lists.filter((entry) => !widening.includes(entry)).map(([key, values]) => [key, values.map(String)]),
      ),
      ...(settings.windows.length > 0 && {
        windows: settings.windows.map(({ days, from, to, timezone }) => `${days} ${from}-${to} ${timezone}`),
      }),
    },
    required: { preconditions: settings.preconditions.map(({ expr }) => expr.trim()) },
  };
}

/** Filters of any resource. */
interface Selects {
  readonly failedWithin?: number;
  readonly failedBefore?: number;
  readonly [filter: string]: unknown;
}

type Own = {
  readonly atMost: Readonly<Record<string, number>>;
  readonly atLeast: Readonly<Record<string, number>>;
  readonly same: PolicyScope['same'];
};

/** Part of the scope that is specific to one action. */
function ownOf(settings: PolicySettings): Own {
  if (isOf(settings, 'workflow-dlq.resume')) {
    const { action, limits, ramp } = settings;
    const flow = action.flowControlIfAbsent;
    return {
      atMost: {
        ...capsOf(limits),
        maxMatched: limits.maxMatched,
        onTrip: asksPerson(limits.onTrip),
        attempts: limits.attempts.max,
        retries: action.retries,
        rampStart: ramp.start,
        rampFactor: ramp.factor,
        rampMax: ramp.max,
        ...(flow.enabled && { parallelism: flow.parallelism, rate: flow.rate }),
      },
      atLeast: {
        settle: ramp.settle,
        ...(flow.enabled && { period: flow.period }),
        ...Object.fromEntries(limits.attempts.backoff.map((wait, index) => [`backoff${index}`, wait])),
      },
      same: {
        groupBy: ramp.groupBy,
        backoffs: limits.attempts.backoff.length,
      },
    };
  }
  if (isOf(settings, 'message-dlq.prune')) {
    const { limits } = settings;
    return { atMost: capsOf(limits), atLeast: { probation: limits.probation.runs }, same: {} };
  }
  if (isOf(settings, 'budget.raise')) {
    const { action, limits } = settings;
    return {
      atMost: {
        ceilingUsd: action.ceilingUsd,
        maxPerMonth: limits.maxPerMonth,
        maxRaisePerMonthUsd: limits.maxRaisePerMonthUsd,
        ...defined({ percent: action.step.percent, usd: action.step.usd }),
      },
      atLeast: { readings: action.confirm.readings, apart: action.confirm.apart },
      same: { step: action.step.usd === undefined ? 'percent' : 'usd', roundUpTo: action.step.roundUpTo },
    };
  }
  const { limits } = settings;
  const archive: Readonly<Record<string, number>> = isOf(settings, 'workflow-dlq.delete')
    ? { grace: settings.action.grace, archive: settings.action.archive.require ? 1 : 0 }
    : {};
  return {
    atMost: {
      ...capsOf(limits),
      maxMatched: limits.maxMatched,
      maxMatchedShare: limits.maxMatchedShare,
      onTrip: asksPerson(limits.onTrip),
    },
    atLeast: { probation: limits.probation.runs, ...archive },
    same: {},
  };
}

function capsOf({ maxPerRun, maxPerHour, maxPerDay }: { maxPerRun: number; maxPerHour: number; maxPerDay: number }) {
  return { maxPerRun, maxPerHour, maxPerDay };
}

/** `abort` is narrower than `approve`: it acts on no entry. */
function asksPerson(onTrip: 'approve' | 'abort'): number {
  return onTrip === 'approve' ? 1 : 0;
}

function defined(values: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
