/** Validates values and converts the service's values to samples. */
import type { MetricSpec } from '../catalog/metric-spec.ts';

/** 2015-01-01 and 2100-01-01 in Unix seconds. */
const EARLIEST = 1_420_070_400;
const LATEST = 4_102_444_800;

/** Returns true if a value may be exported: no NaN, no negative amount, no time outside 2015 to 2100. */
export function makesSense(spec: MetricSpec, value: number): boolean {
  if (typeof value !== 'number' || Number.isNaN(value)) return false;
  if (spec.unit === 'timestamp') return value >= EARLIEST && value < LATEST;
  if (spec.unit === 'flag') return value === 0 || value === 1;
  if (spec.type !== 'gauge' && value === Infinity) return false;
  return value >= 0;
}

/** Converts epoch milliseconds to Unix seconds. The service uses a zero time for an absent one. */
export function seconds(epochMs: number | undefined): number | undefined {
  return epochMs === undefined || epochMs === 0 ? undefined : epochMs / 1_000;
}

export function flagValue(value: boolean | undefined): 0 | 1 | undefined {
  if (value === undefined) return undefined;
  return value ? 1 : 0;
}
