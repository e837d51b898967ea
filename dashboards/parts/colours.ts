/** Colors by value, and texts for values. */
import type { ThresholdsConfig, ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';
import {
  MappingType,
  SpecialValueMatch,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';

export type Steps = ThresholdsConfig['steps'];

interface Limits {
  readonly warning?: number;
  readonly critical?: number;
}

/** Thresholds for a value that gets worse as it grows. */
export function rising({ warning, critical }: Limits): Steps {
  return [
    { value: null, color: 'green' },
    ...(warning === undefined ? [] : [{ value: warning, color: 'orange' }]),
    ...(critical === undefined ? [] : [{ value: critical, color: 'red' }]),
  ];
}

/** Thresholds for a value that gets worse as it falls: red below `critical`, orange below `warning`. */
export function falling({ warning, critical }: Limits): Steps {
  const steps: Steps = [];
  if (critical !== undefined) steps.push({ value: null, color: 'red' });
  if (warning !== undefined) steps.push({ value: critical ?? null, color: 'orange' });
  return [...steps, { value: warning ?? critical ?? null, color: 'green' }];
}

/** One color for all values: a neutral fact. */
export const PLAIN: Steps = [{ value: null, color: 'blue' }];

/** Thresholds for table columns: 0 is normal, anything else needs a look. */
export const FROM_ONE: Steps = [
  { value: null, color: 'text' },
  { value: 1, color: 'orange' },
];

export function absolute(steps: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** Texts and colors for single values, such as `{ 0: ['closed', 'green'] }`. */
export function words(of: Readonly<Record<string, readonly [text: string, color: string]>>): ValueMapping {
  const options = Object.entries(of).map(([value, [text, color]], index) => [value, { text, color, index }] as const);
  return { type: MappingType.ValueToText, options: Object.fromEntries(options) };
}

/** Text for a limit of +Inf, which means unlimited. Grafana treats a range without an end as one that ends at 0. */
export const UNLIMITED = words({ Infinity: ['unlimited', 'green'] });

/**
 * Mapping for a missing value. Grafana would use the color of the lowest value, which would be a judgment of unknown
 * data.
 */
export const UNKNOWN: ValueMapping = {
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.NullAndNan, result: { color: 'text' } },
};
