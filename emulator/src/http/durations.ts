/** Durations in the format of the service's headers: `30s`, `10m`, `1d1h30m`. A number without a unit is in seconds. */

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Maximum duration: 10 years. A hundred years would not fit a timer. */
const LONGEST_MS = 10 * 365 * 86_400_000;

/** @returns milliseconds, or undefined when the text is not a duration */
export function parseServiceDuration(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return bounded(Number(trimmed) * 1_000);
  if (!/^(\d+[smhd])+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, count, unit] of trimmed.matchAll(/(\d+)([smhd])/gy)) total += Number(count) * UNIT_MS[unit!]!;
  return bounded(total);
}

function bounded(ms: number): number | undefined {
  return ms <= LONGEST_MS ? ms : undefined;
}
