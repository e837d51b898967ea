/** Reading a paged listing to its end, within a budget of pages. */
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

/** The pages that may still be read; shared by the listings of one run. */
export interface PageBudget {
  left: number;
  spent: number;
}

interface ListOptions {
  readonly budget: PageBudget;
  /** Memory of the rows that the caller keeps, shared by listings that it keeps together. */
  readonly memory: RowMemory;
  /** Called with the number of pages before a cursor is followed: whether the listing has reached a limit of its own. */
  readonly isFull?: (pages: number) => boolean;
}

/**
 * Yields page after page until the service gives no further cursor. No order of rows is relied on. The next page is on
 * its way while the caller looks at one; a caller that leaves early waits for it.
 *
 * @throws {ListingError} `cursor_loop` when a cursor comes back, `budget` when there are more pages than allowed, or
 *   their rows take more memory
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
      throw new ListingError('budget', `${what}: more pages than allowed; ${budget.spent} were read`);
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
      if (!memory.keep(page.value)) {
        const most = Math.round(memory.most / 1_048_576);
        throw new ListingError('budget', `${what}: the rows of ${budget.spent} pages take more than ${most} MiB`);
      }
      let failure: unknown;
      if (page.cursor !== undefined) {
        try {
          coming = ask(page.cursor);
          // Its failure is told when it is waited for.
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
