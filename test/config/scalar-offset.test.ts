/** Mapping from a value back to the file, for every style of a YAML text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Document, parseDocument, Scalar } from 'yaml';
import { scalarOffset } from '#config/scalar-offset.ts';

const STYLES = ['BLOCK_LITERAL', 'BLOCK_FOLDED', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'PLAIN'] as const;

/** Returns the scalar under the only key of the only key. */
function scalarOf(source: string): Scalar {
  const document = parseDocument(source);
  expect(document.errors).toEqual([]);
  return document.getIn(['outer', 'key'], true) as Scalar;
}

const word = fc.stringMatching(/^[a-z&|!()."'\\é😀]{1,9}$/u);
const gap = fc.constantFrom(' ', ' ', ' ', '\n', '\n\n', '\n  ', '  ', '\n\n\n');
const text = fc
  .array(fc.tuple(word, gap), { minLength: 1, maxLength: 25 })
  .map((parts) => parts.flat().join(''))
  .chain((body) => fc.constantFrom(body, body.trim(), `${body.trimEnd()}\n`, `\n${body}`));

describe('scalarOffset', () => {
  test('leads to the same character, in every style', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...STYLES), fc.constantFrom(20, 40, 200), (written, style, width) => {
        const scalar = new Scalar(written);
        scalar.type = style;
        const source = new Document({ outer: { key: scalar } }).toString({ lineWidth: width });
        const read = scalarOf(source);
        // The value may differ from the input, because folding can move a line break. The file decides.
        const value = String(read.value);
        const wrong = [...value.split('').keys()].filter((index) => {
          const found = source[scalarOffset(source, read, index)];
          const isEscaped = read.type === 'QUOTE_DOUBLE' && found === '\\';
          return found !== value[index] && /\S/.test(value[index]!) && !isEscaped;
        });
        expect(wrong, source).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('never leads outside of the value', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...STYLES), fc.nat(300), (written, style, index) => {
        const scalar = new Scalar(written);
        scalar.type = style;
        const source = new Document({ outer: { key: scalar } }).toString({ lineWidth: 40 });
        const read = scalarOf(source);
        const at = scalarOffset(source, read, index);
        expect(at).toBeGreaterThanOrEqual(read.range![0]);
        expect(at).toBeLessThanOrEqual(read.range![1]);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['an escape', 'outer:\n  key: "a\\tb\\u00e9c\\U0001F600d"\n', 'd'],
    ['a line joined by a backslash', 'outer:\n  key: "ab\\\n    cd"\n', 'd'],
    ['doubled quotes', "outer:\n  key: 'it''s, ''d'\n", 'd'],
    ['an indentation of its own', 'outer:\n  key: |2\n      abc\n    d\n', 'd'],
    ['kept line breaks', 'outer:\n  key: |+\n\n    abc\n\n    d\n\n', 'd'],
    ['Windows line ends', 'outer:\r\n  key: |\r\n    abc\r\n    d\r\n', 'd'],
    ['folded Windows line ends', 'outer:\r\n  key: >\r\n    abc\r\n    d\r\n', 'd'],
    ['a comment in the header', 'outer:\n  key: | # d\n    abc\n    d\n', 'd'],
    ['a plain text on two lines', 'outer:\n  key: a\n    b\n\n    d\n', 'd'],
  ])('knows %s', (_what, source, last) => {
    const read = scalarOf(source);
    const index = String(read.value).lastIndexOf(last);
    expect(scalarOffset(source, read, index)).toBe(source.lastIndexOf(last));
  });
});
