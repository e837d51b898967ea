/**
 * Seed of an emulator from what was read of an account. Only times, statuses, methods and limits of the account are in
 * it: hosts, paths, labels, keys and names are pseudonyms, and everything else is left out. Pure.
 */
import { PLAN_LIMITS } from '#emulator/state/limits.ts';
import type { EmulatorSeed, SeededFailedRun, SeededFailure, SeededPublish } from '#emulator/types/public.ts';
import type { DeadLetterView } from '#operate/contract/dead-letters.ts';
import type { MessageRow } from '#operate/contract/messages.ts';
import type { FlowControlKeyView } from '#operate/contract/readings.ts';

type FlowKey = Pick<FlowControlKeyView, 'flowControlKey' | 'parallelismMax' | 'rateMax' | 'ratePeriod' | 'isPaused'>;

export interface Recorded {
  readonly at: number;
  readonly messages: readonly MessageRow[];
  readonly failedRuns: readonly DeadLetterView[];
  readonly flowControlKeys: readonly FlowKey[];
  readonly urlGroups: readonly { readonly name: string; readonly endpoints: readonly { readonly url: string }[] }[];
}

export interface Recording {
  readonly seed: EmulatorSeed;
  /** Number of messages and runs that a seed cannot have. */
  readonly leftOut: number;
}

/** Failures of the same minute are one item, so that the file stays readable. */
const MINUTE_MS = 60_000;
const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'PUT', 'PATCH', 'DELETE']);
const LEFT_OUT: ReadonlySet<string | undefined> = new Set(['CANCELLED', 'CANCEL_REQUESTED', undefined]);

export function recordedSeed(recorded: Recorded): Recording {
  const { at, failedRuns, flowControlKeys, urlGroups } = recorded;
  const names = new Pseudonyms();
  const inDlq = new Set<string | undefined>(failedRuns.map(({ workflowRunId }) => workflowRunId));
  const rows = newestRows(recorded.messages).filter(
    ({ workflowRunId }) => workflowRunId === undefined || !inDlq.has(workflowRunId),
  );
  const limits = new Map(flowControlKeys.map((key) => [key.flowControlKey, limitsText(key)]));
  const failures: SeededFailure[] = [];
  const publishes: SeededPublish[] = [];
  for (const row of rows) {
    const { url, state, workflowRunId } = row;
    if (url === undefined || LEFT_OUT.has(state)) continue;
    if (state !== 'FAILED') publishes.push(publishOf({ ...row, url }, { at, names, limits }));
    // The DLQ does not have the run: it was resumed or deleted.
    else if (workflowRunId === undefined) failures.push(failureOf({ ...row, url, failedAt: row.at }, { at, names }));
  }
  const runs = failedRuns.map((run): SeededFailedRun => ({
    ...failureOf({ ...run, url: run.workflowUrl ?? run.url ?? '' }, { at, names }),
    ...(run.failureFunctionState !== undefined && {
      failureFunctionState: run.failureFunctionState as SeededFailedRun['failureFunctionState'],
    }),
  }));
  const groups = urlGroups
    .filter(({ endpoints }) => endpoints.length > 0)
    .map(({ name, endpoints }) => ({
      name: names.of('group', name),
      endpoints: endpoints.map(({ url }, index) => ({ url: names.url(url), name: `endpoint-${index + 1}` })),
    }));
  const keys = flowControlKeys
    .filter(({ parallelismMax, rateMax, isPaused }) => parallelismMax ?? rateMax ?? isPaused)
    .map(({ flowControlKey, parallelismMax, rateMax, ratePeriod = 1, isPaused }) => ({
      key: names.of('key', flowControlKey),
      ...(parallelismMax !== undefined && { parallelism: parallelismMax }),
      ...(rateMax !== undefined && { rate: { max: rateMax, periodMs: ratePeriod * 1_000 } }),
      ...(isPaused === true && { paused: true }),
    }));
  const seed = {
    ...largestPlan({
      max_retries: Math.max(0, ...publishes.map(({ retries }) => Number(retries ?? 0))),
      max_parallelism: Math.max(0, ...flowControlKeys.map(({ parallelismMax = 0 }) => parallelismMax)),
    }),
    urlGroups: groups,
    flowControlKeys: keys,
    deadLetters: together(failures),
    failedRuns: together(runs),
    destinations: Object.fromEntries(names.hosts().map((host) => [host, [200]])),
    messages: together(publishes),
  };
  return { seed, leftOut: rows.length - failures.length - publishes.length };
}

/** No limit rejects the seed or ends its failures early: the plan of the account is unknown. */
function largestPlan(needed: { readonly max_retries: number; readonly max_parallelism: number }) {
  const plan = 'enterprise';
  const higher = Object.entries(needed).filter(
    ([name, value]) => value > PLAN_LIMITS[plan][name as keyof typeof needed],
  );
  return { plan, ...(higher.length > 0 && { limits: Object.fromEntries(higher) }) } as const;
}

interface Context {
  readonly at: number;
  readonly names: Pseudonyms;
}

type Failure = Pick<MessageRow, 'labels' | 'flowControlKey' | 'responseStatus'> & {
  readonly url: string;
  readonly failedAt: number;
};

function failureOf(failure: Failure, { at, names }: Context): SeededFailure {
  const { url, labels, flowControlKey, responseStatus: status, failedAt } = failure;
  const agoMs = Math.round((at - failedAt) / MINUTE_MS) * MINUTE_MS;
  return {
    url: names.url(url),
    ...(labels.length > 0 && { labels: labels.map((label) => names.of('label', label)) }),
    ...(flowControlKey !== undefined && { flowControlKey: names.of('key', flowControlKey) }),
    ...(status !== undefined && { status }),
    ...(agoMs > 0 && { agoMs }),
  };
}

/** A message that is delivered again at the start, or that waits as long as the recorded one. */
function publishOf(
  row: MessageRow & { readonly url: string },
  { at, names, limits }: Context & { readonly limits: ReadonlyMap<string, string | undefined> },
): SeededPublish {
  const { url, labels, flowControlKey = '', workflowRunId, method, maxRetries, state, nextDeliveryTime = 0 } = row;
  const waitMs = state === 'DELIVERED' ? 0 : Math.max(0, nextDeliveryTime - at);
  const limit = limits.get(flowControlKey);
  return {
    destination: names.url(url),
    ...(workflowRunId !== undefined && { workflow: true }),
    ...(METHODS.has(method) && { method }),
    ...(maxRetries !== undefined && { retries: maxRetries }),
    ...(waitMs > 0 && { delay: `${Math.ceil(waitMs / 1_000)}s` }),
    ...(labels.length > 0 && { label: labels.map((label) => names.of('label', label)).join(',') }),
    // Each message with a key has its limits. A key without any has no effect.
    ...(limit !== undefined && { flowControlKey: names.of('key', flowControlKey), flowControlValue: limit }),
  };
}

/** `parallelism=3, rate=10, period=60s`; undefined without a limit. */
function limitsText({ parallelismMax, rateMax, ratePeriod = 1 }: FlowKey): string | undefined {
  const rate = rateMax === undefined ? [] : [`rate=${rateMax}`, `period=${ratePeriod}s`];
  const parts = [...(parallelismMax === undefined ? [] : [`parallelism=${parallelismMax}`]), ...rate];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** The newest row of each message; of a run, that of its newest message. */
function newestRows(messages: readonly MessageRow[]): readonly MessageRow[] {
  const newest = new Map<string, MessageRow>();
  for (const row of messages) {
    const key = row.workflowRunId ?? row.messageId;
    const known = newest.get(key);
    if (known === undefined || known.at < row.at) newest.set(key, row);
  }
  return [...newest.values()];
}

/** Equal items as one, with their number. */
function together<T extends object>(items: readonly T[]): readonly (T & { readonly count?: number })[] {
  return [...Map.groupBy(items, (item) => JSON.stringify(item)).values()].map((equal) =>
    equal.length === 1 ? equal[0]! : { ...equal[0]!, count: equal.length },
  );
}

/** The same text has the same pseudonym within a file. */
class Pseudonyms {
  readonly #known = new Map<string, Map<string, string>>();

  of(kind: string, text: string): string {
    const names = this.#known.get(kind) ?? new Map<string, string>();
    this.#known.set(kind, names);
    const name = names.get(text) ?? `${kind}-${names.size + 1}`;
    names.set(text, name);
    return name;
  }

  /** A path may be secret as well. Credentials, port, query and fragment are left out. */
  url(text: string): string {
    const { protocol = 'https:', host = text, pathname = '/' } = URL.parse(text) ?? {};
    const path = pathname === '/' ? '' : this.of('path', pathname);
    return `${protocol === 'http:' ? 'http' : 'https'}://${this.of('host', host)}.example/${path}`;
  }

  hosts(): readonly string[] {
    return [...(this.#known.get('host')?.values() ?? [])].map((host) => `${host}.example`);
  }
}
