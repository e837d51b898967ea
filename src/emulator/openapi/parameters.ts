/** Converts the tables of path, query and header parameters to OpenAPI. */
import { METHODS } from '../state/message.ts';
import type { HeaderParameter } from './header-parameters.ts';
import { choiceOf, httpUrl, integer, listOf, long, text, type JsonSchema } from './json-schema.ts';
import { headerTableOf, queryTableOf, type Operation, type PathParameter } from './operations.ts';
import { MAX_COUNT, type QueryParameter } from './query-parameters.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly style?: 'form';
  readonly explode?: boolean;
  readonly example?: string;
}

export function parametersOf({ name, pathParameters = {} }: Operation, headerPrefix: string): readonly Parameter[] {
  return [
    ...Object.entries(pathParameters).map(pathParameter),
    ...Object.entries(queryTableOf(name)).map(queryParameter),
    ...Object.entries(headerTableOf(name))
      .filter(([, header]) => header.kind !== 'forward')
      .map(([header, parameter]): Parameter => ({
        name: `${headerPrefix}-${header}`,
        in: 'header',
        description: parameter.description,
        schema: headerSchema(parameter),
      })),
  ];
}

function pathParameter([name, { description, example, ...limits }]: readonly [string, PathParameter]): Parameter {
  const schema: JsonSchema = { type: 'string', minLength: 1, ...limits };
  return { name, in: 'path', required: true, description, schema, example };
}

function queryParameter([name, parameter]: readonly [string, QueryParameter]): Parameter {
  const isList = ['texts', 'urls', 'integers'].includes(parameter.kind);
  return {
    name,
    in: 'query',
    description: parameter.description,
    schema: querySchema(parameter),
    ...(isList && { style: 'form', explode: true }),
  };
}

function querySchema({ kind, values = [], default: fallback }: QueryParameter): JsonSchema {
  switch (kind) {
    case 'text':
    case 'cursor':
      return text();
    case 'choice':
      return { ...choiceOf(values), ...(fallback !== undefined && { default: fallback }) };
    case 'integer':
      return { ...long(), minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
    case 'texts':
    case 'urls':
      return listOf(values.length > 0 ? choiceOf(values) : text());
    case 'integers':
      return listOf({ ...integer(), minimum: 0, maximum: 999_999_999 });
    case 'page-size':
      return { ...integer(), minimum: 1, maximum: MAX_COUNT, default: MAX_COUNT };
    case 'at-most':
      return { ...long(), minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
  }
}

const DURATION_RULE = 'Units s, m, h and d, combinable (1d1h30m); without one, seconds. At most ten years.';
const DURATION = '(\\d+|(\\d+[smhd])+)';
const ABOVE_ZERO = '[1-9]\\d{0,8}';
const FLOW_PART = `\\s*((parallelism|rate)\\s*=\\s*${ABOVE_ZERO}|period\\s*=\\s*${DURATION})\\s*`;

function headerSchema({ kind, pattern, maximum = 999_999_999_999_999 }: HeaderParameter): JsonSchema {
  switch (kind) {
    case 'integer':
      return { ...long(), minimum: 0, maximum };
    case 'boolean':
      return { ...choiceOf(['true', 'false']), default: 'false' };
    case 'method':
      return { ...choiceOf(METHODS), default: 'POST' };
    case 'duration':
      return { ...text(DURATION_RULE), pattern: `^${DURATION}$` };
    case 'url':
      return httpUrl();
    case 'flow-control':
      return { ...text(), pattern: `^${FLOW_PART}(,${FLOW_PART})*$` };
    case 'text':
    case 'list':
    case 'expression':
    case 'forward':
      return { ...text(), ...(pattern !== undefined && { pattern }) };
  }
}
