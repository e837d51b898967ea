/** Small charts as SVG, without a script. Each has its values as text for screen readers. Pure. */
import { constantMarkup, html, type Html } from './html.ts';

const [WIDTH, HEIGHT] = [240, 36];
/** A few values are narrow bars, not blocks. */
const LEAST_STEPS = 20;

/** @param about text for screen readers, such as `highest 12 of 30 waiting` */
export function bars(values: readonly number[], about: string): Html | undefined {
  const highest = Math.max(0, ...values);
  if (values.length === 0 || highest === 0) return undefined;
  const step = WIDTH / Math.max(LEAST_STEPS, values.length);
  const width = Math.max(1, step - 1).toFixed(1);
  const outlines = values.map((value, index) => {
    const height = ((value / highest) * HEIGHT).toFixed(1);
    return `M${(index * step).toFixed(1)} ${HEIGHT}v-${height}h${width}v${height}z`;
  });
  return html`<svg
    class="spark"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${about}"
  >
    <path d="${constantMarkup(outlines.join(''))}" />
  </svg>`;
}
