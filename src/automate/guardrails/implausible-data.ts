import { clockFault } from '#foundation/domain/clock-skew.ts';
import type { Hold } from '#foundation/domain/hold.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { ReadFacts } from './guard.ts';

const EARLIEST = Date.UTC(2015, 0, 1);
const DAY_MS = 86_400_000;

/** Requires plausible times, mandatory fields, and a clock that agrees with the service's. */
export function implausibleData(facts: ReadFacts): Hold | undefined {
  const measured = implausible(facts);
  if (measured === undefined) return undefined;
  const needed = 'every listed entry must be plausible, and the clocks must agree';
  return { measured, needed, remedy: 'correct the clock; otherwise report the response to the provider' };
}

function implausible({ entries, dropped, clockSkewMs, now }: ReadFacts): string | undefined {
  const fault = clockSkewMs === undefined ? undefined : clockFault(clockSkewMs);
  if (fault !== undefined) return fault;
  if (dropped > 0) return `${dropped} listed ${dropped === 1 ? 'entry' : 'entries'} could not be parsed`;
  for (const entry of entries) {
    const missing = MANDATORY.find((field) => entry[field] === '');
    if (missing !== undefined) return `the listing has an entry without ${missing}`;
    // The magnitude shows the unit, so the times could be converted. But an unexpected unit means an unexpected
    // service.
    if (entry.timesIn !== undefined) return `the times of ${entry.dlqId} are in ${entry.timesIn}, not milliseconds`;
    for (const field of TIMES) {
      const time = entry[field];
      if (time !== undefined && !(time >= EARLIEST && time <= now + DAY_MS)) {
        return `${field} of ${entry.dlqId} is out of range: ${time}`;
      }
    }
  }
  return undefined;
}

const MANDATORY = ['dlqId', 'workflowRunId', 'workflowUrl'] as const satisfies readonly (keyof WorkflowDlqEntry)[];
const TIMES = ['createdAt', 'workflowCreatedAt'] as const satisfies readonly (keyof WorkflowDlqEntry)[];
