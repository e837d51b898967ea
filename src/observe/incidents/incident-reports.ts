/**
 * Reports of incidents as conditions. Each condition is one notification. A storm is bounded: if many incidents open at
 * the same time, one condition reports all of them.
 */
import { counted, formatCount } from '#foundation/domain/counted.ts';
import { isLowerBound, isSinceKnown, membersNow, type Incident } from '#foundation/domain/incident.ts';
import { redact } from '#foundation/domain/redact.ts';

/** Maximum number of incidents of an account that are reported individually at the same time, and in an hour. */
const MOST_AT_ONCE = 5;
const MOST_AN_HOUR = 10;
const HOUR_MS = 3_600_000;
/** Minimum time between two conditions of an account that report several incidents. */
const BETWEEN_MS = 10 * 60_000;
const NAMED = 3;

export interface IncidentReport {
  /** `incident/ID`; `incident/ID/more` with the id of the largest of several incidents. */
  readonly key: `incident/${string}`;
  readonly ids: readonly string[];
}

/** Decides which incidents are reported now. Bound to one process: a restart only resets the hour. */
export class IncidentReports {
  readonly #individual = new Map<string, readonly number[]>();
  readonly #together = new Map<string, number>();

  /** @param unreported unresolved incidents of an account without a report */
  due(account: string, unreported: readonly Incident[], at: number): readonly IncidentReport[] {
    if (unreported.length === 0) return [];
    const recent = (this.#individual.get(account) ?? []).filter((time) => at - time < HOUR_MS);
    if (unreported.length <= MOST_AT_ONCE && recent.length + unreported.length <= MOST_AN_HOUR) {
      this.#individual.set(account, [...recent, ...unreported.map(() => at)]);
      return unreported.map(({ id }) => ({ key: `incident/${id}`, ids: [id] }));
    }
    if (at - (this.#together.get(account) ?? -Infinity) < BETWEEN_MS) return [];
    this.#together.set(account, at);
    const ids = unreported.toSorted(bySize).map(({ id }) => id);
    return [{ key: `incident/${ids[0]}/more`, ids }];
  }
}

export interface ReportFacts {
  /** Unresolved incidents of the report. */
  readonly incidents: readonly Incident[];
  /** Epoch milliseconds when the first member expires; absent if unknown. */
  readonly firstExpiresAt?: number;
  /** Returns the address of a page of the daemon. */
  readonly link: (path: string) => string;
}

/** Texts of the condition: the summary, and what to do. Error texts of the service are not part of them. */
export function reportTexts({ incidents, firstExpiresAt, link }: ReportFacts): {
  readonly summary: string;
  readonly detail: string;
} {
  const sorted = incidents.toSorted(bySize);
  const first = sorted[0]!;
  const expiry = firstExpiresAt === undefined ? '' : `; the first dead letter expires ${minute(firstExpiresAt)}`;
  if (sorted.length === 1) {
    return {
      summary: `Incident in ${first.account}: ${incidentTitle(first)}`,
      detail: `since ${minute(first.firstAt)}${isSinceKnown(first) ? '' : ' or earlier'}${expiry}; see ${link(`/incidents/${first.id}`)}`,
    };
  }
  const named = sorted.slice(0, NAMED).map(incidentTitle).join('; ');
  const more = sorted.length > NAMED ? `; and ${sorted.length - NAMED} more` : '';
  return {
    summary: `${formatCount(sorted.length)} incidents opened in ${first.account} at the same time`,
    detail: `${named}${more}${expiry}; see ${link(`/incidents?account=${encodeURIComponent(first.account)}`)}`,
  };
}

/** Fault in a few words: `412 runs of shop.example/checkout failed: HTTP 503`. */
export function incidentTitle(incident: Incident): string {
  const { kind, place, reason, now, deliveries, ever } = incident;
  const where = redact(place);
  const why = reason.split(': ', 1)[0]!;
  const count = membersNow(incident);
  const atLeast = isLowerBound(incident) ? 'at least ' : '';
  if (kind === 'overflow') return `${atLeast}${counted(count, 'dead letter')} of further kinds`;
  if (count === 0 && deliveries !== undefined && ever === 0) {
    return `${counted(deliveries.failed, 'delivery attempt')} to ${where} failed: ${why}`;
  }
  const of = `${kind === 'workflow' ? 'of' : 'to'} ${where}`;
  if (now.workflow > 0 && now.message > 0) return `${atLeast}${counted(count, 'dead letter')} ${of}: ${why}`;
  const shown = counted(count === 0 ? ever : count, kind === 'workflow' ? 'run' : 'message');
  return `${atLeast}${shown} ${of} failed: ${why}`;
}

function bySize(a: Incident, b: Incident): number {
  return sizeOf(b) - sizeOf(a) || a.firstAt - b.firstAt || (a.id < b.id ? -1 : 1);
}

function sizeOf(incident: Incident): number {
  return Math.max(membersNow(incident), incident.deliveries?.lost ?? 0);
}

/** `2026-11-22 12:41Z`. */
function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
