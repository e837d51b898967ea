import type { Clock } from '#foundation/platform/clock.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import { teardown } from '#foundation/platform/teardown.ts';

/** Parts of the daemon in the order in which they start. They end in the reverse order. */
export class Parts extends AsyncDisposableStack {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }) {
    super();
    this.#deps = deps;
  }

  /** Adds the end of a part, which is waited for at most `ms` milliseconds. */
  ending(name: string, ms: number, work: () => Promise<unknown>): void {
    this.use(teardown(this.#deps, name, ms, work));
  }
}
