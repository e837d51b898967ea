/** Runs statements of the stores on one connection. */
import type { ClientBase } from 'pg';
import { workOf, type Job, type Outcome, type Row, type Statement, type Value, type Work } from '../database.ts';
import { translate, type Translated } from './translate.ts';
import { parameterOf } from './values.ts';

/** Rows of one `INSERT`. The protocol allows 65,535 parameters. */
const MOST_ROWS = 1_000;
const MOST_PARAMETERS = 65_535;

/** Statements that are sent without waiting for earlier results. */
const MOST_SENT = 100;

/** Work that has begun, and its first step. */
export interface FirstStep<T> {
  readonly work: Work<T>;
  readonly step: IteratorResult<Statement, T>;
}

export function firstStep<T>(job: Job<T>): FirstStep<T> {
  const work = workOf(job);
  return { work, step: work.next() };
}

/**
 * Runs work, one statement after the other.
 *
 * @param check called before each statement; the work gets its error
 */
export async function drive<T>(client: ClientBase, job: Job<T> | FirstStep<T>, check?: () => void): Promise<T> {
  const { work, step: first } = 'step' in job ? job : firstStep(job);
  let step = first;
  /** Statements whose outcome nothing reads. They come first, so theirs is the first error. */
  let unread: Promise<Outcome>[] = [];
  while (step.done !== true) {
    let outcome: Outcome = { rows: [], changes: 0 };
    try {
      check?.();
      const { sql, rows, isUnread = false } = step.value;
      const pending = queries(translate(sql), rows);
      const running = execute(client, pending);
      unread.push(running);
      // All of it must be sent before the next statement.
      if (isUnread && pending.length <= MOST_SENT) running.catch(() => undefined);
      else {
        const sent = unread;
        unread = [];
        outcome = (await together(sent)).at(-1)!;
      }
    } catch (error) {
      step = work.throw(error);
      continue;
    }
    step = work.next(outcome);
  }
  await together(unread);
  return step.value;
}

async function execute(client: ClientBase, pending: readonly Query[]): Promise<Outcome> {
  let rows: readonly Row[] = [];
  let changes = 0;
  for (let sent = 0; sent < pending.length; sent += MOST_SENT) {
    const part = pending.slice(sent, sent + MOST_SENT);
    for (const result of await together(part.map(([text, parameters]) => client.query<Row>(text, parameters)))) {
      // A script of several statements has several results, which no caller reads.
      rows = result.rows ?? [];
      changes += result.rowCount ?? 0;
    }
  }
  return { rows, changes };
}

type Query = readonly [text: string, values: unknown[]];

function queries({ text, sets, ofRows }: Translated, rows: readonly (readonly Value[])[]): readonly Query[] {
  const parameters = (values: readonly Value[]): unknown[] =>
    values.map((value, index) => parameterOf(value, sets.has(index + 1)));
  const columns = rows[0]?.length ?? 0;
  if (ofRows === undefined || rows.length === 1 || columns === 0) return rows.map((row) => [text, parameters(row)]);
  const size = Math.min(MOST_ROWS, Math.floor(MOST_PARAMETERS / columns));
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, chunk): Query => {
    const part = rows.slice(chunk * size, (chunk + 1) * size);
    return [ofRows(part.length), part.flatMap(parameters)];
  });
}

/** Awaits all results, so that no statement is on its way when the first error is thrown. */
export async function together<T extends readonly unknown[]>(work: {
  [K in keyof T]: Promise<T[K]>;
}): Promise<T> {
  const settled = await Promise.allSettled(work);
  const failed = settled.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.map((result) => (result as PromiseFulfilledResult<unknown>).value) as unknown as T;
}
