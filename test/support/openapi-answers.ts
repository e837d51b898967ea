/**
 * Compares responses of a running emulator with its OpenAPI document. It finds the operation of a request, checks
 * status, headers and every field, and records which parts of the document occurred.
 */
import type {
  HeaderObject,
  JsonSchema,
  OpenApiDocument,
  OperationObject,
  ResponseObject,
} from './interface-document.ts';
import { problems } from './json-schema.ts';

export interface Answer {
  readonly method: string;
  /** Target as sent, query included. */
  readonly target: string;
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Headers of HTTP itself, which no API document describes. */
const OF_HTTP = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']);

/** True for statuses that `default` covers. The document must name any other. */
const isOfAnyRequest = (status: number): boolean => [408, 413, 417, 431].includes(status) || status >= 500;

interface Place {
  readonly method: string;
  readonly pattern: RegExp;
  readonly operation: OperationObject;
}

export class DocumentedAnswers {
  /** Parts that occurred: `publish 200`, `publish default`; `publish 429 Retry-After`; `LogEntry.label`. */
  readonly seen = new Set<string>();
  readonly #document: OpenApiDocument;
  readonly #places: readonly Place[];

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#places = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method: method.toUpperCase(),
        pattern: patternOf(path),
        operation,
      })),
    );
  }

  /** Returns the deviations from the document, one line each; none for a request without an operation. */
  problems(answer: Answer): readonly string[] {
    const operation = this.#operationOf(answer);
    if (operation === undefined) return [];
    const name = operation.operationId;
    const explicit = String(answer.status) in operation.responses;
    if (!explicit && !isOfAnyRequest(answer.status)) return [`${name}: ${answer.status} is no status of it`];
    const status = explicit ? String(answer.status) : 'default';
    const response = this.#response(operation, status);
    this.seen.add(`${name} ${status}`);
    const wrong = [
      ...this.#headerProblems(`${name} ${status}`, response, answer),
      ...this.#bodyProblems(response, answer),
    ];
    return wrong.map((line) => `${name} ${answer.status}: ${line}`);
  }

  /** Returns statuses, headers and fields of the document that no response has shown. */
  unseen(): readonly string[] {
    return [...this.#told()].filter((one) => !this.seen.has(one));
  }

  #told(): ReadonlySet<string> {
    const told = new Set<string>();
    for (const { operation } of this.#places) {
      for (const status of Object.keys(operation.responses)) {
        const response = this.#response(operation, status);
        told.add(`${operation.operationId} ${status}`);
        // Some errors of `default` occur before the caller is known.
        for (const header of status === 'default' ? [] : Object.keys(response.headers ?? {})) {
          told.add(`${operation.operationId} ${status} ${header}`);
        }
        for (const { schema } of Object.values(response.content ?? {})) this.#tellFields(schema, told);
      }
    }
    return told;
  }

  #tellFields(schema: JsonSchema, told: Set<string>): void {
    if (schema.$ref !== undefined) {
      const name = nameOf(schema.$ref);
      for (const field of Object.keys(this.#schema(name).properties ?? {})) {
        // Stops at a recursive schema.
        if (told.has(`${name}.${field}`)) return;
        told.add(`${name}.${field}`);
      }
      this.#tellFields(this.#schema(name), told);
      return;
    }
    for (const part of partsOf(schema)) this.#tellFields(part, told);
  }

  /** Returns the name of a request's operation, if any. */
  operationId(request: Pick<Answer, 'method' | 'target'>): string | undefined {
    return this.#operationOf(request)?.operationId;
  }

  #operationOf({ method, target }: Pick<Answer, 'method' | 'target'>): OperationObject | undefined {
    const path = target.split('?', 1)[0]!;
    return this.#places.find((place) => place.method === method && place.pattern.test(path))?.operation;
  }

  #response(operation: OperationObject, status: string): ResponseObject {
    const response = operation.responses[status]!;
    return '$ref' in response ? this.#document.components.responses[nameOf(response.$ref)]! : response;
  }

  #schema(name: string): JsonSchema {
    return this.#document.components.schemas[name]!;
  }

  #headerProblems(where: string, response: ResponseObject, { headers }: Answer): readonly string[] {
    const wrong: string[] = [];
    const names = new Set<string>();
    for (const [name, { $ref }] of Object.entries(response.headers ?? {})) {
      const { schema, required = false }: HeaderObject = this.#document.components.headers[nameOf($ref)]!;
      const value = headers[name.toLowerCase()];
      names.add(name.toLowerCase());
      if (value === undefined) {
        if (required) wrong.push(`the header ${name} is missing`);
        continue;
      }
      this.seen.add(`${where} ${name}`);
      const read = schema.type === 'integer' && /^\d+$/.test(String(value)) ? Number(value) : value;
      const found = problems(read, schema, this.#document.components.schemas);
      wrong.push(...found.map((line) => `${name}${line}`));
    }
    const strange = Object.keys(headers).filter((name) => !names.has(name) && !OF_HTTP.has(name));
    return [...wrong, ...strange.map((name) => `the header ${name} is not in the document`)];
  }

  #bodyProblems({ content }: ResponseObject, { headers, body }: Answer): readonly string[] {
    const media = content?.['application/json'];
    if (media === undefined) return body === '' ? [] : [`there is a body: ${body.slice(0, 80)}`];
    if (headers['content-type'] !== 'application/json') return [`the body is ${String(headers['content-type'])}`];
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return [`the body is not JSON: ${body.slice(0, 80)}`];
    }
    this.#see(value, media.schema);
    return problems(value, media.schema, this.#document.components.schemas);
  }

  #see(value: unknown, schema: JsonSchema, name?: string): void {
    const { schemas } = this.#document.components;
    if (schema.$ref !== undefined) {
      this.#see(value, this.#schema(nameOf(schema.$ref)), nameOf(schema.$ref));
    } else if (schema.anyOf !== undefined) {
      const fitting = schema.anyOf.find((one) => problems(value, one, schemas).length === 0);
      if (fitting !== undefined) this.#see(value, fitting);
    } else if (Array.isArray(value)) {
      for (const item of value) this.#see(item, schema.items ?? {});
    } else if (typeof value === 'object' && value !== null) {
      for (const [field, part] of Object.entries(schema.properties ?? {})) {
        if (!Object.hasOwn(value, field)) continue;
        if (name !== undefined) this.seen.add(`${name}.${field}`);
        this.#see((value as Readonly<Record<string, unknown>>)[field], part);
      }
    }
  }
}

function nameOf($ref: string): string {
  return $ref.split('/').at(-1)!;
}

/** A destination or workflow at the end may contain slashes. */
function patternOf(path: string): RegExp {
  const rest = path.replace(/\{(destination|workflowUrl)\}$/, '.*').replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${rest}$`, 's');
}

function partsOf({ items, properties = {}, additionalProperties, anyOf = [] }: JsonSchema): readonly JsonSchema[] {
  return [items, additionalProperties, ...anyOf, ...Object.values(properties)].filter((part) => part !== undefined);
}
