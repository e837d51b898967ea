/** What deciding stands on. */
import type { EngineDeps } from './engine-deps.ts';
import type { Rejections } from './rejections.ts';

export interface DecideDeps extends EngineDeps {
  readonly rejections: Rejections;
}
