/** When a panel has nothing to show. */
import type { Series } from '../prometheus.ts';

export interface Look {
  /** A number each, as a table or a stat has it; else points of a chart. */
  readonly isInstant: boolean;
  /** Cells of a heatmap: all of them 0 is an empty picture. */
  readonly isHeatmap: boolean;
  /** Epoch seconds: what has no point since then is a thing of the past. */
  readonly since: number;
}

/** Whether a person sees nothing: no series, no number, only points of before, or a chart whose lines are all endless. */
export function isEmpty(series: readonly Series[], { isInstant, isHeatmap, since }: Look): boolean {
  return !series.some(({ points }) =>
    points.some(([at, value]) => {
      if (at < since || Number.isNaN(value)) return false;
      if (isHeatmap) return value > 0;
      return isInstant || Number.isFinite(value);
    }),
  );
}
