/** Which values make sense, and how the service's values become samples. */
import type { MetricSpec } from '../catalog/metric-spec.ts';

/** 2015-01-01 and 2100-01-01, Unix seconds. */
const EARLIEST = 1_420_070_400;
const LATEST = 4_102_444_800;

/** Whether a value may be exported: never NaN, no negative amount, no moment outside 2015 to 2100. */
export function makesSense(spec: MetricSpec, value: number): boolean {
  if (typeof value !== 'number' || Number.isNaN(value)) return false;
  if (spec.unit === 'timestamp') return value >= EARLIEST && value < LATEST;
  if (spec.unit === 'flag') return value === 0 || value === 1;
  if (spec.type !== 'gauge' && value === Infinity) return false;
  return value >= 0;
}

/** Epoch milliseconds as Unix seconds. A zero time is how the service says that there is none. */
export function seconds(epochMs: number | undefined): number | undefined {
  return epochMs === undefined || epochMs === 0 ? undefined : epochMs / 1_000;
}

export function flag(value: boolean | undefined): 0 | 1 | undefined {
  if (value === undefined) return undefined;
  return value ? 1 : 0;
}
