/** A policy as the engine holds it: its settings, its compiled expression, and what the service is asked for. */
import type { CompiledWhere } from './expression.ts';
import { compileWhere } from './expression.ts';
import type { PolicySettings } from './settings.ts';

type NonEmptyText = readonly [string, ...string[]];

/** Filters of a listing of the workflow DLQ. Values of one filter are alternatives; filters narrow each other. */
export interface WorkflowDlqSelection {
  /** Epoch milliseconds, inclusive. */
  readonly fromDate?: number;
  /** Epoch milliseconds, inclusive. */
  readonly toDate?: number;
  readonly label?: NonEmptyText;
  readonly workflowUrl?: NonEmptyText;
  readonly flowControlKey?: NonEmptyText;
  readonly failureFunctionState?: NonEmptyText;
}

export interface Policy {
  readonly name: string;
  readonly account: string;
  readonly settings: PolicySettings;
  /** Where it is written: `file:line`. */
  readonly source: string;
  readonly where: CompiledWhere;
  /** `every` in milliseconds, or a cron expression with its zone. */
  readonly schedule: { readonly every: number } | { readonly cron: string; readonly timezone: string };
  /** What the service is asked for at `now` (epoch milliseconds). */
  filter(now: number): WorkflowDlqSelection;
}

/** A repair without a schedule runs this often. */
const DEFAULT_INTERVAL_MS = 300_000;

/**
 * @param source `file:line`, for people
 * @throws {Error} when `where` does not compile; the configuration has told so before, with its place
 */
export function compilePolicy(settings: PolicySettings, source: string): Policy {
  const where = compileWhere(settings.where);
  if (!where.ok) throw new Error(`${source}: policy ${settings.name}: where: ${where.message}`);
  const { select } = settings;
  return {
    name: settings.name,
    account: settings.account,
    settings,
    source,
    where,
    schedule:
      settings.schedule === undefined
        ? { every: settings.every ?? DEFAULT_INTERVAL_MS }
        : { cron: settings.schedule, timezone: settings.timezone ?? 'UTC' },
    filter: (now) => ({
      ...(select.failedWithin !== undefined && { fromDate: now - select.failedWithin }),
      ...(select.failedBefore !== undefined && { toDate: now - select.failedBefore }),
      ...listed('label', select.anyLabel),
      ...listed('workflowUrl', select.workflowUrl),
      ...listed('flowControlKey', select.flowControlKey),
      ...listed('failureFunctionState', select.failureFunctionState),
    }),
  };
}

/** A filter, or no key at all: an empty list would be no filter on the wire. */
function listed<K extends string>(key: K, values: readonly string[] | undefined): Partial<Record<K, NonEmptyText>> {
  const [first, ...rest] = values ?? [];
  const filter: Partial<Record<string, NonEmptyText>> = first === undefined ? {} : { [key]: [first, ...rest] };
  return filter;
}
