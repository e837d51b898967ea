/** A row of the conformance table, and short ways to write many. */

interface Proof {
  /** Name of a file in this folder or below. */
  readonly file: string;
  /** The title as it stands in the file; of a test over many values, the title with its places left open. */
  readonly test: string;
  /** Of a test over many values: what one of them is told by in the file. */
  readonly value?: string;
}

export interface Row {
  /** Section, operation or record, and name: `4.1.publish.header.Svc-Retries`. */
  readonly id: string;
  readonly statement: string;
  readonly proof?: Proof;
  /** Why the interface does not decide it, and what the emulator does or which switch says so. */
  readonly open?: string;
  /** What is still to be built before it can be proven. */
  readonly pending?: string;
}

/** Statement by id. */
type Statements = Readonly<Record<string, string>>;

/** Statement by id; with the value of a test over many that proves it. */
type ProvenStatements = Readonly<Record<string, string | readonly [statement: string, value: string]>>;

/** Rows that one test proves. */
export function proven(file: string, test: string, statements: ProvenStatements): readonly Row[] {
  return Object.entries(statements).map(([id, told]) => {
    if (typeof told === 'string') return { id, statement: told, proof: { file, test } };
    return { id, statement: told[0], proof: { file, test, value: told[1] } };
  });
}

/**
 * Rows that wait for a part of the emulator; there may be none.
 *
 * @public
 */
export function pending(what: string, statements: Statements): readonly Row[] {
  return Object.entries(statements).map(([id, statement]) => ({ id, statement, pending: what }));
}

/** A point that the interface leaves open. */
export function open(id: string, statement: string, why: string): Row {
  return { id, statement, open: why };
}

/** A point that the interface leaves open, with a test of what the emulator makes of it. */
export function settled(row: Row, file: string, test: string, value?: string): Row {
  return { ...row, proof: { file, test, ...(value !== undefined && { value }) } };
}
