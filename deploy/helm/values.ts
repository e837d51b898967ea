/** The chart's values: each with its default, and its description, the comment above it in values.yaml. */
import { parseDocument, isMap, isScalar, type Pair, type YAMLMap } from 'yaml';
import type { Schema } from './kubernetes-schema.ts';
import { Group, type Shape } from './values-schema.ts';

export interface Value {
  /** Such as `hooks.ingress.host`. */
  readonly path: string;
  readonly description: string;
  /** Undefined for a group of values, as is the default. */
  readonly schema?: Schema;
  readonly default?: unknown;
}

/**
 * Returns the values in the order of values.yaml, and the groups that have a comment.
 *
 * @throws {Error} when a value has no type, no comment, or no default
 */
export function valuesOf(text: string, shapes: Group): Value[] {
  const document = parseDocument(text);
  if (!isMap(document.contents)) throw new Error('values.yaml is not a map');
  return group(document.contents, shapes, '');
}

function group(map: YAMLMap, { shapes }: Group, prefix: string): Value[] {
  const missing = Object.keys(shapes).find((key) => !map.has(key));
  if (missing !== undefined) throw new Error(`values.yaml has no ${prefix}${missing}`);
  return map.items.flatMap((pair, index) => {
    if (!isScalar(pair.key)) throw new Error(`values.yaml: ${prefix} has a key that is not a scalar`);
    const key = String(pair.key.value);
    const path = prefix + key;
    const shape: Shape | undefined = shapes[key];
    if (shape === undefined) throw new Error(`the value ${path} has no type`);
    const description = comment(map, pair, index);
    if (shape instanceof Group) {
      if (!isMap(pair.value)) throw new Error(`the value ${path} is not a map`);
      const values = group(pair.value, shape, `${path}.`);
      return description === '' ? values : [{ path, description }, ...values];
    }
    if (description === '') throw new Error(`the value ${path} has no comment`);
    return [{ path, description, schema: shape, default: jsonOf(pair.value) }];
  });
}

/** Returns the comment above a key, up to an empty line. The parser keeps that of the first key at the map. */
function comment(map: YAMLMap, { key }: Pair, index: number): string {
  const own = isScalar(key) ? key.commentBefore : undefined;
  const text = own ?? (index === 0 ? map.commentBefore : undefined) ?? '';
  const [paragraph = ''] = text.split(/\n\s*\n/).slice(-1);
  return paragraph.replaceAll(/\s*\n\s*/g, ' ').trim();
}

function jsonOf(node: unknown): unknown {
  return isScalar(node) ? node.value : (node as YAMLMap).toJSON();
}
