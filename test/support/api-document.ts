/** Compares responses of a daemon with the document of its API. */
import type { ApiDocument } from '#operate/contract/document.ts';
import { problems, type Schemas } from './json-schema.ts';

export interface Described {
  readonly method: string;
  /** Path, with or without a query. */
  readonly path: string;
  readonly status: number;
  readonly body: string;
}

/** Statuses of errors that any request can get. The document has them as `default`. */
const isOfAnyRequest = (status: number): boolean => status >= 500 || [404, 405, 413, 421].includes(status);

/** Returns the name of the request's operation; undefined if the document has none. */
function operationOf(document: ApiDocument, { method, path }: Pick<Described, 'method' | 'path'>) {
  const [plain = ''] = path.split('?', 1);
  const fitting = Object.entries(document.paths)
    .filter(([pattern]) =>
      new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(plain),
    )
    // `/audit/head` before `/audit/{id}`.
    .toSorted(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')));
  return fitting.map(([, methods]) => methods[method.toLowerCase()]).find((one) => one !== undefined);
}

/** Returns the deviations of a response from the document, one line each. */
export function documentProblems(document: ApiDocument, answer: Described): readonly string[] {
  const operation = operationOf(document, answer);
  if (operation === undefined) return [`${answer.method} ${answer.path} is not in the document`];
  const { operationId, responses } = operation;
  const isNamed = String(answer.status) in responses;
  if (!isNamed && !isOfAnyRequest(answer.status))
    return [`${operationId}: the status ${answer.status} is not in the document`];
  const response = responses[isNamed ? String(answer.status) : 'default']!;
  const { content } = '$ref' in response ? document.components.responses[response.$ref.split('/').at(-1)!]! : response;
  const { schema } = content['application/json']!;
  const found = problems(JSON.parse(answer.body), schema as never, document.components.schemas as Schemas);
  return found.map((problem) => `${operationId} ${answer.status}: ${problem}`);
}
