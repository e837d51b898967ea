/** Reads a paged listing to its end, within a page budget. */
import type { Page } from '#service/api.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import type { RowMemory } from '#foundation/platform/row-memory.ts';

export class ListingError extends Error {
  override readonly name = 'ListingError';
  readonly code: Extract<ServiceErrorCode, 'cursor_loop' | 'budget'>;

  constructor(code: ListingError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Remaining pages of a budget, shared by the listings of one run. */
export interface PageBudget {
  left: number;
  spent: number;
}

interface ListOptions {
  readonly budget: PageBudget;
  /** Memory limit for rows, shared by listings that the caller keeps at the same time. */
  readonly memory: RowMemory;
  /** Returns true if the listing has reached its own limit. Called with the number of pages before each next page. */
  readonly isFull?: (pages: number) => boolean;
}

/**
 * Yields pages until the service returns no further cursor. Does not depend on the order of rows. The next page is
 * requested while the caller processes the current one. A caller that stops early waits for that request.
 *
 * @throws {ListingError} `cursor_loop` if a cursor repeats; `budget` if there are more pages than allowed, or if their
 * rows need more memory
 */
export async function* listPages<T extends object>(
  what: string,
  { budget, memory, isFull = () => false }: ListOptions,
  read: (cursor: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<Page<T>, void, undefined> {
  const followed = new Set<string>();
  const ask = (cursor: string | undefined): Promise<Page<T>> => {
    if (cursor !== undefined && followed.has(cursor)) {
      throw new ListingError('cursor_loop', `${what}: the service returned a cursor twice, so the end is not known`);
    }
    if (cursor !== undefined) followed.add(cursor);
    if (budget.left <= 0 || isFull(followed.size)) {
      throw new ListingError('budget', `${what}: the listing has more pages than allowed; ${budget.spent} were read`);
    }
    budget.left -= 1;
    budget.spent += 1;
    return read(cursor);
  };
  let coming: Promise<Page<T>> | undefined = ask(undefined);
  try {
    while (coming !== undefined) {
      const page: Page<T> = await coming;
      coming = undefined;
      if (!memory.keep(page.value, page.bytes)) {
        const most = Math.round(memory.most / 1_048_576);
        throw new ListingError('budget', `${what}: the rows of ${budget.spent} pages need more than ${most} MiB`);
      }
      let failure: unknown;
      if (page.cursor !== undefined) {
        try {
          coming = ask(page.cursor);
          // The failure surfaces when this promise is awaited.
          coming.catch(() => undefined);
        } catch (error) {
          failure = error;
        }
      }
      yield page;
      if (failure !== undefined) throw failure;
    }
  } finally {
    await coming?.catch(() => undefined);
  }
}
