/** A row of the conformance table, with short constructors. */

interface Proof {
  /** Name of a test file in this folder or below. */
  readonly file: string;
  /** Title as in the file. For a test over many values, the title with its placeholders. */
  readonly test: string;
  /** Text in the file that identifies one value of a test over many values. */
  readonly value?: string;
}

export interface Row {
  /** Section, operation or record, and name: `4.1.publish.header.Svc-Retries`. */
  readonly id: string;
  readonly statement: string;
  readonly proof?: Proof;
  /** Point that the interface leaves open, with the emulator's behavior or the switch that decides. */
  readonly open?: string;
  /** Missing part of the emulator that blocks the proof. */
  readonly pending?: string;
}

/** Statement by id. */
type Statements = Readonly<Record<string, string>>;

/** Statement by id, with the value that proves it if the test covers many. */
type ProvenStatements = Readonly<Record<string, string | readonly [statement: string, value: string]>>;

/** Rows that one test proves. */
export function proven(file: string, test: string, statements: ProvenStatements): readonly Row[] {
  return Object.entries(statements).map(([id, told]) => {
    if (typeof told === 'string') return { id, statement: told, proof: { file, test } };
    return { id, statement: told[0], proof: { file, test, value: told[1] } };
  });
}

/**
 * Rows that wait for a part of the emulator; the list may be empty.
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

/** A point that the interface leaves open, with a test of the emulator's choice. */
export function settled(row: Row, file: string, test: string, value?: string): Row {
  return { ...row, proof: { file, test, ...(value !== undefined && { value }) } };
}
