/** Detection of empty panels. */
import type { Series } from '../prometheus.ts';

export interface Look {
  /** True for single numbers, as in a table or a stat; false for points of a chart. */
  readonly isInstant: boolean;
  /** True for cells of a heatmap: all zeros are an empty picture. */
  readonly isHeatmap: boolean;
  /** Epoch seconds. A series without a later point is outdated. */
  readonly since: number;
}

/** Returns true if the panel is visually empty: no series, no number, only old points, or a chart of infinite lines. */
export function isEmpty(series: readonly Series[], { isInstant, isHeatmap, since }: Look): boolean {
  return !series.some(({ points }) =>
    points.some(([at, value]) => {
      if (at < since || Number.isNaN(value)) return false;
      if (isHeatmap) return value > 0;
      return isInstant || Number.isFinite(value);
    }),
  );
}
