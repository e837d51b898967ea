/** The OpenAPI document of the embedded service with its types, and its operations as a list. */
import { openApiDocument, type Spelling } from '#emulator/http/openapi.ts';
import { HEADER_PARAMETERS, type HeaderTable } from '#emulator/http/header-parameters.ts';

/** The part of JSON Schema 2020-12 that the document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly format?: string;
  readonly enum?: readonly (string | number)[];
  readonly default?: string | number | boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example?: string;
}

interface MediaType {
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

type Content = Readonly<Record<string, MediaType>>;

export interface Reference {
  readonly $ref: string;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Content;
}

export interface HeaderObject {
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface Callback {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody: { readonly content: Content };
}

export interface OperationObject {
  readonly operationId: string;
  readonly description?: string;
  readonly tags: readonly ('message' | 'management')[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly callbacks?: Readonly<Record<string, Readonly<Record<string, { readonly post: Callback }>>>>;
  readonly 'x-forwarded-headers'?: readonly { readonly prefix: string }[];
}

export interface OpenApiDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

export function documentIn(spelling: Spelling): OpenApiDocument {
  return openApiDocument(spelling) as OpenApiDocument;
}

export const DOCUMENT = documentIn({ headerPrefix: 'Svc', product: 'msgsvc' });

export interface Operation {
  readonly name: string;
  readonly api: 'message' | 'management';
  readonly method: string;
  /** Path template, such as `/v2/topics/{urlGroupName}/endpoints`. */
  readonly path: string;
  /** True if the last path parameter is the rest of the path, query included. */
  readonly takesRest: boolean;
  readonly object: OperationObject;
}

export const OPERATIONS: readonly Operation[] = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, object]) => ({
    name: object.operationId,
    api: object.tags[0]!,
    method: method.toUpperCase(),
    path,
    takesRest: /\{(?:destination|workflowUrl)\}$/.test(path),
    object,
  })),
);

export function parametersIn({ object }: Operation, place: Parameter['in']): readonly Parameter[] {
  return (object.parameters ?? []).filter((parameter) => parameter.in === place);
}

export function headerTableOf(operation: string): HeaderTable {
  return (HEADER_PARAMETERS as Readonly<Record<string, HeaderTable>>)[operation] ?? {};
}
