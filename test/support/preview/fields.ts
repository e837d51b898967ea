/** Display of a series in a panel: its name, unit, color and the words for its values. */
import type { Answer } from '../grafana/answers.ts';
import type { FieldSettings, Panel } from '../grafana/dashboard.ts';
import { written } from './units.ts';

const NAMED = 'green:#73bf69 red:#f2495c orange:#ff9830 yellow:#fade2a blue:#5794f2 purple:#b877d9';
const COLOURS = new Map(NAMED.split(' ').map((pair) => pair.split(':') as [string, string]));

export function colour(name = 'text'): string {
  return name.startsWith('#') ? name : (COLOURS.get(name.replace(/^.*-/, '')) ?? '#d8d9da');
}

export function nameOf({ target }: Answer, metric: Readonly<Record<string, string>>): string {
  const label = (_whole: string, name: string): string => metric[name] ?? '';
  return (target.legendFormat || Object.values(metric).join(' ')).replaceAll(/\{\{\s*(\w+)\s*\}\}/g, label);
}

/** Returns the common settings, with the overrides for this name. */
export function settingsOf({ fieldConfig }: Panel, name: string): FieldSettings {
  const own = (fieldConfig?.overrides ?? []).filter(({ matcher }) => matcher.options === name);
  const entries = own.flatMap(({ properties }) => properties.map(({ id, value }) => [id, value] as const));
  return { ...fieldConfig?.defaults, ...Object.fromEntries(entries) };
}

/** Returns a value in words and color: by its mapping, else by thresholds. */
export function shown(value: number, settings: FieldSettings, now: number): { text: string; colour: string } {
  const step = settings.thresholds?.steps?.findLast((one) => one.value == null || value >= one.value);
  const mapped = (settings.mappings ?? [])
    .map(({ type, options }) =>
      type === 'value' ? options[String(value)] : type === 'range' && isWithin(options, value) && options['result'],
    )
    .find((one) => typeof one === 'object') as { readonly text?: string; readonly color?: string } | undefined;
  return {
    text: mapped?.text ?? written(value, settings.unit ?? 'short', now, settings.decimals),
    colour: colour(mapped?.color ?? settings.color?.fixedColor ?? step?.color),
  };
}

/** Grafana reads a null end as 0. */
function isWithin({ from, to }: Readonly<Record<string, unknown>>, value: number): boolean {
  return !(value < Number(from)) && !(value > Number(to));
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
