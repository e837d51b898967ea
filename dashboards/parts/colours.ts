/** Colours by value, and words for values. */
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

/** Worse as the value grows. */
export function rising({ warning, critical }: Limits): Steps {
  return [
    { value: null, color: 'green' },
    ...(warning === undefined ? [] : [{ value: warning, color: 'orange' }]),
    ...(critical === undefined ? [] : [{ value: critical, color: 'red' }]),
  ];
}

/** Worse as the value falls: below `critical` is red, below `warning` orange. */
export function falling({ warning, critical }: Limits): Steps {
  const steps: Steps = [];
  if (critical !== undefined) steps.push({ value: null, color: 'red' });
  if (warning !== undefined) steps.push({ value: critical ?? null, color: 'orange' });
  return [...steps, { value: warning ?? critical ?? null, color: 'green' }];
}

/** One colour for all values: a fact that is neither good nor bad. */
export const PLAIN: Steps = [{ value: null, color: 'blue' }];

/** Nothing is as it should be, anything is worth a look: for columns of tables. */
export const FROM_ONE: Steps = [
  { value: null, color: 'text' },
  { value: 1, color: 'orange' },
];

export function absolute(steps: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

/** Words and colours for single values, such as `{ 0: ['closed', 'green'] }`. */
export function words(of: Readonly<Record<string, readonly [text: string, color: string]>>): ValueMapping {
  const options = Object.entries(of).map(([value, [text, color]], index) => [value, { text, color, index }] as const);
  return { type: MappingType.ValueToText, options: Object.fromEntries(options) };
}

/** A limit of the service may be +Inf: there is none. Grafana takes a range without an end for one that ends at 0. */
export const UNLIMITED = words({ Infinity: ['unlimited', 'green'] });

/** Where there is no value Grafana takes the colour of the least one: that would be a judgement of what is not known. */
export const UNKNOWN: ValueMapping = {
  type: MappingType.SpecialValue,
  options: { match: SpecialValueMatch.NullAndNan, result: { color: 'text' } },
};
