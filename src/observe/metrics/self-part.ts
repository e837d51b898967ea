/** Part of the daemon's own gauges that is replaced together. */
import type { GaugeName } from '../catalog/catalog.ts';
import type { Put, Source } from './families.ts';

export type SelfSource = Extract<Source, 'collectors' | 'usage' | 'policies' | 'ledger' | 'store'>;

interface Part {
  readonly source: SelfSource;
  readonly gauges: readonly GaugeName[];
}

/** Part that is filled at each scrape. */
export interface SelfPart extends Part {
  readonly fill: (put: Put) => void;
}

/** Part whose facts are in the store. They are read after a change and on a schedule, never by a scrape. */
export interface StoredPart extends Part {
  /** Reads the facts. @returns what fills the gauges with them */
  readonly read: () => Promise<SelfPart['fill']>;
}
