/** Records which operations a test requests and asserts about, and compares them with the conformance table. */
import { expect } from 'vitest';
import type { Row } from './conformance-row.ts';
import { OPERATION_IDS } from './interface-names.ts';

/** Operations of the OpenAPI document that a test requested, with an assertion after an answer that it read. */
export interface Evidence {
  /** Title of the test, with its values. */
  readonly title: string;
  readonly operations: ReadonlySet<string>;
}

/** Test files whose evidence is compared with the table when they end. */
export const watchedFiles = new Set<string>();

interface Answer {
  readonly operation: string;
  /** Assertions of the test before the answer. */
  readonly assertions: number;
  read: boolean;
}

let answers: Answer[] = [];

const assertions = (): number => expect.getState().assertionCalls;

/** Records the answer to a request. Returns an answer that records its reading. */
export function recordAnswer<T extends object>(operation: string, answer: T): T {
  const record: Answer = { operation, assertions: assertions(), read: false };
  answers.push(record);
  return new Proxy(answer, {
    get: (target, name) => {
      // `await` reads `then`.
      if (name !== 'then') record.read = true;
      return Reflect.get(target, name) as unknown;
    },
  });
}

/** Returns and clears the record since the last call. Call it at the end of each test. */
export function takeEvidence(title: string): Evidence {
  const asserted = answers.filter((answer) => answer.read && answer.assertions < assertions());
  answers = [];
  return { title, operations: new Set(asserted.map(({ operation }) => operation)) };
}

/** Matches the titles that Vitest builds from a title with placeholders. */
function titlePattern(title: string): RegExp {
  const escaped = title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll(/%[a-zA-Z]/g, '.*')}$`, 's');
}

/** Returns one line for each row whose tests ran without a request, or without an assertion about a response. */
export function unproven(rows: readonly Row[], file: string, evidence: readonly Evidence[]): readonly string[] {
  return rows.flatMap(({ id, proof }) => {
    if (proof?.file !== file) return [];
    const pattern = titlePattern(proof.test);
    const tests = evidence.filter(({ title }) => pattern.test(title));
    // A filter on the command line excluded the test. `conformance.test.ts` checks that it exists.
    if (tests.length === 0) return [];
    const operation = OPERATION_IDS[id.split('.', 3).join('.')];
    const isProof = ({ operations }: Evidence): boolean =>
      operation === undefined ? operations.size > 0 : operations.has(operation);
    if (tests.some(isProof)) return [];
    return [`${id}: "${proof.test}" asserts nothing about an answer of ${operation ?? 'any operation'}`];
  });
}
