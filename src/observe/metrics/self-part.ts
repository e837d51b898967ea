/** Part of the daemon's own gauges that is read and replaced together. */
import type { GaugeName } from '../catalog/catalog.ts';
import type { Put, Source } from './families.ts';

export type SelfSource = Extract<Source, 'collectors' | 'usage' | 'policies' | 'ledger'>;

export interface SelfPart {
  readonly source: SelfSource;
  readonly gauges: readonly GaugeName[];
  readonly fill: (put: Put) => void;
  /** True if `fill` reads the store. Its gauges are then read after a change and every ten seconds, not at each scrape. */
  readonly isKept?: true;
}
