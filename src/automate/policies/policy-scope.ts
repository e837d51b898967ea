/** Scope of a policy: all settings that decide what it is allowed to act on, by the direction that makes them narrower. */
import type { PolicyScope } from './scope.ts';
import { isOf, isOfRepair, repairWhere, type PolicySettings } from './settings.ts';

export function scopeOf(settings: PolicySettings): PolicyScope {
  const { failedWithin, failedBefore, ...select } = { ...settings.select } as Selects;
  const lists = Object.entries(select).filter((entry): entry is [string, readonly (string | number)[]] =>
    Array.isArray(entry[1]),
  );
  const isResume = isOf(settings, 'workflow-dlq.resume');
  // A resume skips entries whose failure function ran, unless the selection lists their state: a listed state can widen
  // it.
  const widening = lists.filter(([key]) => isResume && key === 'failureFunctionState');
  const [own, limits] = [ownOf(settings), limitsOf(settings)];
  return {
    same: {
      account: settings.account,
      action: settings.action.type,
      ...(isOfRepair(settings)
        ? { where: repairWhere(settings).trim() }
        : 'where' in settings && { where: settings.where.trim() }),
      ...(settings.on?.deploy !== undefined && { deploy: true }),
      ...Object.fromEntries(widening.map(([key, values]) => [key, values.map(String).toSorted(byCode).join()])),
      ...own.same,
    },
    atMost: defined({ failedWithin }, limits.atMost, own.atMost),
    atLeast: defined({ failedBefore }, limits.atLeast, own.atLeast),
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

type Own = Pick<PolicyScope, 'same'> & Record<'atMost' | 'atLeast', Readonly<Record<string, number | undefined>>>;

/** Part of the scope that is specific to one action, apart from its limits. */
function ownOf(settings: PolicySettings): Own {
  if (isOfRepair(settings)) {
    const { action, limits, ramp } = settings;
    const {
      enabled = false,
      parallelism,
      rate,
      period,
    } = 'flowControlIfAbsent' in action ? action.flowControlIfAbsent : {};
    return {
      atMost: {
        attempts: limits.attempts.max,
        retries: action.retries,
        rampStart: ramp.start,
        rampFactor: ramp.factor,
        rampMax: ramp.max,
        ...(enabled && { parallelism, rate }),
      },
      atLeast: {
        settle: ramp.settle,
        ...(enabled && { period }),
        ...Object.fromEntries(limits.attempts.backoff.map((wait, index) => [`backoff${index}`, wait])),
      },
      same: {
        groupBy: ramp.groupBy,
        backoffs: limits.attempts.backoff.length,
        ...('evenIfRepeated' in action && { evenIfRepeated: action.evenIfRepeated, notBefore: action.notBefore ?? 0 }),
      },
    };
  }
  if (isOf(settings, 'budget.raise')) {
    const { ceilingUsd, step, confirm } = settings.action;
    return {
      atMost: { ceilingUsd, percent: step.percent, usd: step.usd },
      atLeast: { readings: confirm.readings, apart: confirm.apart },
      same: { step: step.usd === undefined ? 'percent' : 'usd', roundUpTo: step.roundUpTo },
    };
  }
  if (!isOf(settings, 'workflow-dlq.delete')) return { atMost: {}, atLeast: {}, same: {} };
  const { grace, archive } = settings.action;
  return { atMost: {}, atLeast: { grace, archive: archive.require ? 1 : 0 }, same: {} };
}

/** Limits by the direction that makes them narrower. `abort` is narrower than `approve`: it acts on no entry. */
function limitsOf({ limits }: PolicySettings): Omit<Own, 'same'> {
  const maxima = Object.entries(limits).filter(([key]) => key.startsWith('max'));
  return {
    atMost: {
      ...Object.fromEntries(maxima),
      onTrip: 'onTrip' in limits ? Number(limits.onTrip === 'approve') : undefined,
    },
    atLeast: { minInterval: limits.minInterval, probation: 'probation' in limits ? limits.probation.runs : undefined },
  };
}

function defined(...all: readonly Readonly<Record<string, number | undefined>>[]): Record<string, number> {
  const entries = all.flatMap(Object.entries<number | undefined>);
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => entry[1] !== undefined));
}

function byCode(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
