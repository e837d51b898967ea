/** Values in Grafana's format, for the units of the dashboards. Runs in the browser too. */
const scale = (text: string) =>
  text.split(',').map((part) => [Number(part.split(':')[0]), part.split(':')[1]!] as const);
const PLAIN = scale('1:,1e3: K,1e6: Mil,1e9: Bil');
const TIME = scale('1e-6: µs,1e-3: ms,1: s,60: min,3600: hours,86400: days,604800: weeks');
const BYTES = scale('1: B,1024: KiB,1048576: MiB,1073741824: GiB');
const AFTER: Readonly<Record<string, string>> = { mps: ' mps', reqps: ' req/s', cps: ' c/s', cpm: ' c/m' };

/** Formats a value. `now` is in epoch milliseconds, for relative times. */
export function written(value: number, unit: string, now: number, decimals?: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : '∞';
  if (unit.startsWith('percent')) return `${figures(unit === 'percentunit' ? value * 100 : value, decimals)}%`;
  if (unit === 'locale') return value.toLocaleString('en', { maximumFractionDigits: decimals ?? 2 });
  if (unit.startsWith('bool')) return value === 0 ? 'No' : 'Yes';
  if (unit === 'dateTimeFromNow') {
    const away = scaled(Math.abs(value - now) / 1_000, TIME, 0);
    return value > now ? `in ${away}` : `${away} ago`;
  }
  if (unit === 'currencyUSD') return `$${scaled(value, PLAIN, decimals)}`;
  if (unit === 's') return scaled(value, TIME, decimals);
  if (/bytes|bps$/i.test(unit)) return `${scaled(value, BYTES, decimals)}${/bps$/i.test(unit) ? '/s' : ''}`;
  return `${scaled(value, PLAIN, decimals)}${AFTER[unit] ?? /^suffix:(.*)$/.exec(unit)?.[1] ?? ''}`;
}

function scaled(value: number, steps: ReturnType<typeof scale>, decimals: number | undefined): string {
  const whole = steps.find(([one]) => one === 1)!;
  const [divisor, suffix] = value === 0 ? whole : (steps.findLast(([least]) => Math.abs(value) >= least) ?? steps[0]!);
  return `${figures(value / divisor, decimals)}${suffix}`;
}

function figures(value: number, decimals: number | undefined): string {
  if (decimals !== undefined) return value.toFixed(decimals);
  return String(Number(value.toPrecision(Math.abs(value) < 1_000 ? 3 : 6)));
}
