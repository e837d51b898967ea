/**
 * How long messages waited because of flow control, and for what: the time between two readings in succession, both of
 * which show that messages wait. It belongs to the constraint that both show; where they differ it is `other`, so that
 * the sum is right where the cause is not known. What is between readings too far apart is not known and not counted.
 */
import type { FlowControlKey } from '#foundation/domain/flow-control.ts';
import { CONSTRAINTS, type Constraint, type FlowControlMemory, type KeyReading } from './flow-control-store.ts';
import type { Increment } from './totals.ts';

/** What keeps messages of a key waiting; a pause before limits, since it holds whatever they say. */
function constraintOf(key: FlowControlKey): Constraint | undefined {
  const { waitListSize, isPaused, parallelismMax, parallelismCount = 0, rateMax, rateCount = 0 } = key;
  if (waitListSize === 0) return undefined;
  if (isPaused === true) return 'paused';
  if (parallelismMax !== undefined && parallelismCount >= parallelismMax) return 'parallelism';
  if (rateMax !== undefined && rateCount >= rateMax) return 'rate';
  return 'other';
}

export interface FlowControlReading {
  readonly rows: readonly FlowControlKey[];
  /** On the monotonic clock, milliseconds. */
  readonly at: number;
}

export interface FlowControlFold {
  readonly increments: readonly Increment[];
  /** To be remembered once the increments are committed. */
  readonly readings: ReadonlyMap<string, KeyReading>;
  readonly counted: readonly string[];
}

export interface FlowControlFoldOptions {
  readonly admit: (label: 'flow_control_key', value: string) => string;
  /** Readings further apart say nothing of the time between them. */
  readonly maxGapMs: number;
}

export function foldFlowControl(
  { rows, at }: FlowControlReading,
  memory: FlowControlMemory,
  { admit, maxGapMs }: FlowControlFoldOptions,
): FlowControlFold {
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
      // All constraints of a key are shown from its first waiting message on, so that the first second is an increase.
      counted.add(label);
      for (const constraint of CONSTRAINTS) count(label, constraint, 0);
    }
    const before = memory.readings.get(row.flowControlKey);
    if (before?.heldBy === undefined || at - before.at > maxGapMs) continue;
    count(label, before.heldBy === heldBy ? heldBy : 'other', at - before.at);
  }
  return { increments, readings, counted: [...counted] };
}
