/** Sizes in readable form (`512KiB`, `1MiB`, `1.5GiB`), in bytes internally. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB'] as const;
const SIZE = /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB)$/;

/** @returns bytes, or undefined if the text is not a size */
export function parseSize(text: string): number | undefined {
  const [, count, unit] = SIZE.exec(text) ?? [];
  if (count === undefined) return undefined;
  return Math.round(Number(count) * 1_024 ** UNITS.indexOf(unit as (typeof UNITS)[number]));
}

/** Formats bytes with the largest unit of which there is at least one: `1536` becomes `1.5 KiB`. */
export function formatSize(bytes: number): string {
  let unit = 0;
  while (unit < UNITS.length - 1 && bytes >= 1_024 ** (unit + 1)) unit++;
  return `${Number((bytes / 1_024 ** unit).toFixed(1))} ${UNITS[unit]!}`;
}
