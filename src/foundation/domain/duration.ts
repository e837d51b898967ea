/** Durations in readable form (`30s`, `5m`, `1h30m`, `7d`), in milliseconds internally. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy;

/**
 * Parses a duration such as `500ms`, `30s`, `1h30m` or `7d`.
 *
 * @returns milliseconds, or undefined if the text is not a duration
 */
export function parseDuration(text: string): number | undefined {
  if (text === '') return undefined;
  let total = 0;
  let end = 0;
  for (const match of text.matchAll(PART)) {
    total += Number(match[1]) * UNIT_MS[match[2]!]!;
    end = match.index + match[0].length;
  }
  return end === text.length && Number.isFinite(total) ? total : undefined;
}

/** Formats milliseconds with at most two units: `90000` becomes `1m30s`, `86400000` becomes `1d`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms);
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1_000) * 1_000;
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = UNIT_MS[unit]!;
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return parts.join('');
}
