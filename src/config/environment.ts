/**
 * Substitution of `${env:NAME}` and `${env:NAME:-default}` inside values. It runs after parsing, so a variable can
 * never become a key, a list or another value.
 */

/** Text with its variables replaced, and the mapping to the positions in the file. */
export interface Expansion {
  readonly text: string;
  /** In order. Offsets start at 0: `raw` is in the written text, `at` in the expanded text. */
  readonly pieces: readonly {
    readonly raw: number;
    readonly rawEnd: number;
    readonly at: number;
    readonly end: number;
  }[];
  /** References with their values from the environment, which must never be shown. */
  readonly values: readonly { readonly written: string; readonly value: string }[];
  readonly faults: readonly ExpansionFault[];
}

interface ExpansionFault {
  /** Offset in the written text. */
  readonly offset: number;
  readonly message: string;
  readonly help: string;
  /** Help if the value is a secret, which must not have a default in the file. */
  readonly secretHelp?: string;
}

const REFERENCE = /\$\$\{|\$\{env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{([^}]*)\}?/g;

/** Expands a value; undefined if it has no reference. */
export function expand(text: string, env: Readonly<Record<string, string | undefined>>): Expansion | undefined {
  if (!text.includes('${')) return undefined;
  const pieces: { raw: number; rawEnd: number; at: number; end: number }[] = [];
  const values: { written: string; value: string }[] = [];
  const faults: ExpansionFault[] = [];
  let result = '';
  let done = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [written, name, fallback, other] = match;
    result += text.slice(done, match.index);
    done = match.index + written.length;
    const at = result.length;
    if (other !== undefined) {
      faults.push({ offset: match.index, ...notAReference(other) });
    } else if (name === undefined) {
      result += '${';
    } else {
      const set = env[name];
      // The default also replaces an empty variable, like a shell's `:-`.
      const value = fallback !== undefined && (set === undefined || set === '') ? fallback : set;
      if (value === undefined) {
        faults.push({
          offset: match.index,
          message: `the environment variable ${name} is not set`,
          help: `set it in the environment of opsd, or write \${env:${name}:-default}`,
          secretHelp: 'set it in the environment of opsd',
        });
      } else {
        result += value;
        values.push({ written, value });
      }
    }
    pieces.push({ raw: match.index, rawEnd: done, at, end: result.length });
  }
  return { text: result + text.slice(done), pieces, values, faults };
}

function notAReference(inside: string): Omit<ExpansionFault, 'offset'> {
  const name = /^(?:env[.:_ ]*)?([A-Za-z_][A-Za-z0-9_]*)/i.exec(inside)?.[1] ?? 'NAME';
  return {
    message: 'not a reference to an environment variable',
    help: `write \${env:${name}} or \${env:${name}:-default}; write a literal \${ as $\${`,
    secretHelp: `write \${env:${name}}; write a literal \${ as $\${`,
  };
}

/** Offset in the written text for an offset in the expanded text; inside a value, the start of its reference. */
export function writtenOffset(expansion: Expansion, offset: number): number {
  let shift = 0;
  for (const piece of expansion.pieces) {
    if (offset < piece.at) break;
    if (offset < piece.end) return piece.raw;
    shift = piece.rawEnd - piece.end;
  }
  return offset + shift;
}

/** Message without values from the environment: each value is replaced by its reference. */
export function withoutValues(message: string, expansion: Expansion): string {
  let result = message;
  for (const { written, value } of expansion.values) {
    if (value !== '') result = result.replaceAll(value, () => written);
  }
  return result;
}
