/**
 * Measures how long messages waited because of flow control, by constraint. A wait is the time between two consecutive
 * readings that both show waiting messages. It is counted under the constraint that both readings show. If the
 * constraints differ it is counted as `other`: the sum stays right although the cause is unknown. The time between
 * readings that are too far apart is unknown and is not counted.
 */
import { constraintOf, CONSTRAINTS, type Constraint, type FlowControlKey } from '#foundation/domain/flow-control.ts';
import type { FlowControlMemory, KeyReading } from './flow-control-store.ts';
import type { Increment } from './totals.ts';

export interface FlowControlReading {
  readonly rows: readonly FlowControlKey[];
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
}

export interface FlowControlAggregate {
  readonly increments: readonly Increment[];
  /** Readings to store once the increments are committed. */
  readonly readings: ReadonlyMap<string, KeyReading>;
  readonly counted: readonly string[];
}

export interface FlowControlAggregationOptions {
  readonly admit: (label: 'flow_control_key', value: string) => string;
  /** Maximum time between two readings. A longer gap is not counted. */
  readonly maxGapMs: number;
}

export function aggregateFlowControl(
  { rows, at }: FlowControlReading,
  memory: FlowControlMemory,
  { admit, maxGapMs }: FlowControlAggregationOptions,
): FlowControlAggregate {
  const increments: Increment[] = [];
  const readings = new Map<string, KeyReading>();
  const counted = new Set<string>();
  const count = (label: string, constraint: Constraint, ms: number): void => {
    const metric = 'msgsvc_flow_control_saturated_seconds_total';
    increments.push({ metric, labels: [label, constraint], by: ms / 1_000 });
  };
  for (const row of rows) {
    const heldBy = constraintOf(row);
    readings.set(row.flowControlKey, { at, heldBy });
    if (heldBy === undefined) continue;
    const label = admit('flow_control_key', row.flowControlKey);
    if (!memory.counted.has(label) && !counted.has(label)) {
      // All constraints of a key are exported from its first waiting message on, so that the first second is an
      // increase.
      counted.add(label);
      for (const constraint of CONSTRAINTS) count(label, constraint, 0);
    }
    const before = memory.readings.get(row.flowControlKey);
    if (before?.heldBy === undefined || at - before.at > maxGapMs) continue;
    count(label, before.heldBy === heldBy ? heldBy : 'other', at - before.at);
  }
  return { increments, readings, counted: [...counted] };
}
