/** Converts the type declarations of the packages `kubernetes-models` to JSON schemas that reject unknown fields. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '../../node_modules');

/** A JSON schema, or a part of one. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/**
 * Returns the definitions of types and of all types that they refer to, by name.
 *
 * @param modules such as `kubernetes-models/v1/Toleration`
 */
export function definitions(modules: readonly string[]): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const reference = (module: string): Schema => {
    const name = nameOf(module);
    if (!(name in found)) {
      found[name] = {};
      found[name] = declaration(module, reference);
    }
    return { $ref: `#/definitions/${name}` };
  };
  for (const module of modules) reference(module);
  return Object.fromEntries(Object.entries(found).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Name of a type in the definitions: `v1.Toleration`. */
export function nameOf(module: string): string {
  return module.replace(/^(?:@kubernetes-models\/[^/]+|kubernetes-models)\//, '').replaceAll('/', '.');
}

/** Each file declares one type, after its imports. */
function declaration(module: string, reference: (module: string) => Schema): Schema {
  const text = readFileSync(join(PACKAGES, `${module}.d.ts`), 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');
  const imports = new Map(
    [...text.matchAll(/^import \{ (\w+) \} from "([^"]+)";$/gm)].map(([, name, path]) => [
      name!,
      path!.startsWith('.') ? join(dirname(module), path!).replace(/\.js$/, '') : path!,
    ]),
  );
  const [, parents = '', properties] = /^export interface \w+(?: extends ([\w, ]+))? (\{$.*?^\})/ms.exec(text) ?? [];
  const [, alias] = /^export type \w+ = ([^;]+);/m.exec(text) ?? [];
  const type = properties ?? alias;
  if (type === undefined) throw new Error(`${module} declares no type`);
  const moduleOf = (name: string): string => {
    const path = imports.get(name);
    if (path === undefined) throw new Error(`${module} does not import ${name}`);
    return path;
  };
  const own = new TypeReader(type, (name) => reference(moduleOf(name))).union();
  const parentNames = parents.split(', ').filter((name) => name !== '' && name !== 'TypeMeta');
  return parentNames.reduce((all, name) => extended(all, declaration(moduleOf(name), reference)), own);
}

function extended(own: Schema, parent: Schema): Schema {
  const required = [...((own['required'] ?? []) as string[]), ...((parent['required'] ?? []) as string[])];
  return {
    ...own,
    properties: { ...(parent['properties'] as object), ...(own['properties'] as object) },
    ...(required.length > 0 && { required }),
  };
}

const PRIMITIVES: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  // The API has no fractions, except in quantities, which are also strings.
  number: { type: 'integer' },
  boolean: { type: 'boolean' },
  any: {},
  unknown: {},
};

/** Reads the part of TypeScript's syntax that the declarations use. */
class TypeReader {
  readonly #tokens: string[];
  readonly #named: (name: string) => Schema;

  constructor(text: string, named: (name: string) => Schema) {
    this.#tokens = text.match(/"(?:[^"\\]|\\.)*"|[\w$]+|[^\s\w]/g) ?? [];
    this.#named = named;
  }

  union(): Schema {
    const members = [this.#single()];
    while (this.#skip('|')) members.push(this.#single());
    if (members.length === 1) return members[0]!;
    if (members.every(({ const: value }) => value !== undefined)) return { enum: members.map((one) => one['const']) };
    if (members.every(({ type }) => type !== undefined && type !== 'object' && type !== 'array'))
      return { type: members.map(({ type }) => (type === 'integer' ? 'number' : type)) };
    return { anyOf: members };
  }

  #single(): Schema {
    if (this.#skip('{')) return this.#members();
    const token = this.#next();
    if (token.startsWith('"')) return { const: JSON.parse(token) as string };
    if (token === 'Array') {
      this.#expect('<');
      const items = this.union();
      this.#expect('>');
      return { type: 'array', items };
    }
    return PRIMITIVES[token] ?? this.#named(token);
  }

  #members(): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    while (!this.#skip('}')) {
      if (this.#skip('[')) {
        for (const token of ['key', ':', 'string', ']', ':']) this.#expect(token);
        const additionalProperties = this.union();
        for (const token of [';', '}']) this.#expect(token);
        return { type: 'object', additionalProperties };
      }
      const name = JSON.parse(this.#next()) as string;
      if (!this.#skip('?')) required.push(name);
      this.#expect(':');
      properties[name] = this.union();
      this.#expect(';');
    }
    return {
      type: 'object',
      properties,
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
  }

  #next(): string {
    const token = this.#tokens.shift();
    if (token === undefined) throw new Error('the declaration ends early');
    return token;
  }

  #skip(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`expected ${token}, found ${found}`);
  }
}
