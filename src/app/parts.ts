import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import { teardown } from '#foundation/platform/teardown.ts';

/** Parts of the daemon, in start order. They end in reverse order. */
export class Parts extends AsyncDisposableStack {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    super();
    this.#deps = deps;
  }

  /** Adds the end of a part. It may take at most `ms` milliseconds. */
  ending(name: string, ms: number, work: () => Promise<unknown>): void {
    this.use(teardown(this.#deps, name, ms, work));
  }
}
