/**
 * `${env:NAME}` and `${env:NAME:-default}` inside values. The text is a value already when this runs, so what a
 * variable holds can never become a key, a list or another value.
 */

/** Text with its variables replaced, and the way back to where each piece was written. */
export interface Expansion {
  readonly text: string;
  /** In order; offsets from 0, `raw` into the text as written, `at` into the text as expanded. */
  readonly pieces: readonly {
    readonly raw: number;
    readonly rawEnd: number;
    readonly at: number;
    readonly end: number;
  }[];
  /** Written pieces that came out of the environment, with what they hold: never to be shown. */
  readonly values: readonly { readonly written: string; readonly value: string }[];
  readonly faults: readonly ExpansionFault[];
}

interface ExpansionFault {
  /** Into the text as written. */
  readonly offset: number;
  readonly message: string;
  readonly help: string;
}

const REFERENCE = /\$\$\{|\$\{env:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{([^}]*)\}?/g;

/** Expands a value; undefined when there is nothing in it to expand. */
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
      // Like a shell's `:-`, the default also stands in for an empty variable.
      const value = fallback !== undefined && (set === undefined || set === '') ? fallback : set;
      if (value === undefined) {
        faults.push({
          offset: match.index,
          message: `the environment variable ${name} is not set`,
          help: `set it where opsd is started, or write \${env:${name}:-default}`,
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

function notAReference(inside: string): { message: string; help: string } {
  const name = /^(?:env[.:_ ]*)?([A-Za-z_][A-Za-z0-9_]*)/i.exec(inside)?.[1] ?? 'NAME';
  return {
    message: 'not a reference to an environment variable',
    help: `write \${env:${name}} or \${env:${name}:-default}; a plain \${ is written $\${`,
  };
}

/** The offset in the text as written of an offset in the expanded text; the start of a reference for what it gave. */
export function writtenOffset(expansion: Expansion, offset: number): number {
  let shift = 0;
  for (const piece of expansion.pieces) {
    if (offset < piece.at) break;
    if (offset < piece.end) return piece.raw;
    shift = piece.rawEnd - piece.end;
  }
  return offset + shift;
}

/** A message without what the environment gave: each value is put back to the reference that was written. */
export function withoutValues(message: string, expansion: Expansion): string {
  let result = message;
  for (const { written, value } of expansion.values) {
    if (value !== '') result = result.replaceAll(value, () => written);
  }
  return result;
}
