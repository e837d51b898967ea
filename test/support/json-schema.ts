/** Validates values against schemas of the OpenAPI document. A field that a schema does not name is a problem as well. */
import { Ajv } from 'ajv';
import type { JsonSchema } from './interface-document.ts';

export type Schemas = Readonly<Record<string, JsonSchema>>;

const ajvs = new WeakMap<Schemas, Ajv>();
const closedSchemas = new WeakMap<JsonSchema, object>();

/** Returns the problems of a value, one line each; none when it matches the schema. */
export function problems(value: unknown, schema: JsonSchema, schemas: Schemas): readonly string[] {
  const known = closedSchemas.get(schema) ?? closed(schema);
  closedSchemas.set(schema, known);
  // Ajv compiles each object once.
  const validate = ajvOf(schemas).compile(known);
  if (validate(value)) return [];
  return validate.errors!.map(({ instancePath, message, params, data }) =>
    [`${instancePath} ${message}`, params['additionalProperty'] ?? JSON.stringify(data)?.slice(0, 80)].join(': '),
  );
}

/** An unknown keyword, format or reference is an error. */
function ajvOf(schemas: Schemas): Ajv {
  let ajv = ajvs.get(schemas);
  if (ajv === undefined) {
    const formats = { uri: (text: string) => URL.canParse(text), int64: true, binary: true } as const;
    ajv = new Ajv({ strict: true, allErrors: true, verbose: true, formats });
    for (const [name, schema] of Object.entries(schemas)) {
      ajv.addSchema(closed(schema), `#/components/schemas/${name}`);
    }
    ajvs.set(schemas, ajv);
  }
  return ajv;
}

/** Returns the schema, without further fields in any object whose fields it names. */
function closed(schema: JsonSchema): object {
  return JSON.parse(JSON.stringify(schema), (_key, part: JsonSchema) =>
    part?.type === 'object' && part.properties !== undefined ? { additionalProperties: false, ...part } : part,
  ) as object;
}
