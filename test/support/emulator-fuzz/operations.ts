/** Every operation that the fuzzer knows: those of the interface by the tables of the OpenAPI document, and the control path. */
import type { HeaderTable } from '#emulator/http/header-parameters.ts';
import { queryTableOf, type QueryTable } from '#emulator/http/query-parameters.ts';
import { DOCUMENT, headerTableOf, OPERATIONS as OF_INTERFACE, type Operation } from '../interface-document.ts';
import { CONTROL_OPERATIONS } from './control-operations.ts';
import type { FieldKind } from './wrong-values.ts';

export interface FuzzOperation {
  readonly name: string;
  readonly api: 'message' | 'management' | 'control';
  readonly method: string;
  /** `/v2/topics/{urlGroupName}/endpoints` */
  readonly path: string;
  /** The last parameter of the path is the rest of the request line. */
  readonly takesRest: boolean;
  readonly query: QueryTable;
  readonly headers: HeaderTable;
  /** `raw` is a body of any type; fields are those of a JSON object. */
  readonly body: 'none' | 'raw' | Fields;
}

export type Fields = Readonly<Record<string, Field>>;

export interface Field {
  readonly kind: FieldKind;
  /** JSON. Absent, the field is left out of a good request. */
  readonly good?: string;
  readonly required: boolean;
}

/** Nobody listens there: what is accepted in spite of all fails at once and reaches nobody. */
export const DESTINATION = 'http://127.0.0.1:1/x';

const INTERFACE: readonly FuzzOperation[] = OF_INTERFACE.map((operation) => ({
  ...operation,
  query: queryTableOf(operation.name),
  headers: headerTableOf(operation.name),
  body: bodyOf(operation),
}));

export const OPERATIONS: readonly FuzzOperation[] = [...INTERFACE, ...CONTROL_OPERATIONS];
export const OPERATION_NAMES: readonly string[] = OPERATIONS.map(({ name }) => name);

function bodyOf({ object: { requestBody } }: Operation): FuzzOperation['body'] {
  if (requestBody === undefined) return 'none';
  const schema = requestBody.content['application/json']?.schema.$ref?.split('/').at(-1);
  if (schema === undefined) return 'raw';
  const entries = Object.entries(DOCUMENT.components.schemas[schema]!.properties ?? {});
  return Object.fromEntries(entries.map(([name, { enum: values }]) => [name, interfaceField(name, values)]));
}

function interfaceField(name: string, values: readonly unknown[] | undefined): Field {
  if (name === 'endpoints') return { kind: 'endpoints', good: `[{"url":"${DESTINATION}"}]`, required: true };
  if (name === 'budget') return { kind: 'budget', good: '20', required: true };
  if (values !== undefined) return { kind: 'choice', good: JSON.stringify(values[0]), required: true };
  return { kind: 'text', good: name === 'msgsvc_id' ? '"{account}"' : '"text"', required: true };
}
