/** Variables inside of values. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expand, withoutValues, writtenOffset } from '#config/environment.ts';

const ENV = { NAME: 'value', EMPTY: '', NESTED: '${env:NAME}' };

describe('expand', () => {
  test.each([
    ['${env:NAME}', 'value'],
    ['a-${env:NAME}-b-${env:NAME}', 'a-value-b-value'],
    ['${env:NAME:-other}', 'value'],
    ['${env:MISSING:-other}', 'other'],
    ['${env:MISSING:-}', ''],
    ['${env:EMPTY:-other}', 'other'],
    ['${env:EMPTY}', ''],
    ['${env:MISSING:-a:b c}', 'a:b c'],
    ['$${env:NAME}', '${env:NAME}'],
    ['$$${env:NAME}', '$${env:NAME}'],
    // The value of a variable is not expanded again.
    ['${env:NESTED}', '${env:NAME}'],
  ])('%s gives %s', (written, text) => {
    expect(expand(written, ENV)).toMatchObject({ text, faults: [] });
  });

  test.each(['plain', '$NAME', 'a$b', '{env:NAME}', ''])('leaves %j unchanged', (written) => {
    expect(expand(written, ENV)).toBeUndefined();
  });

  test.each([
    ['x${env:MISSING}', 1],
    ['${NAME}', 0],
    ['ab${env:}', 2],
    ['${env:NAME', 0],
    ['${ENV:NAME}', 0],
    ['${env:1A}', 0],
  ])('%s is wrong at %i', (written, offset) => {
    expect(expand(written, ENV)?.faults.map((fault) => fault.offset)).toEqual([offset]);
  });

  test('every character maps back to its place in the text', () => {
    const piece = fc.oneof(
      fc.stringMatching(/^[a-z ]{1,6}$/).map((text) => ({ written: text, text, copied: true })),
      fc.constantFrom(
        { written: '${env:NAME}', text: 'value', copied: false },
        { written: '${env:EMPTY}', text: '', copied: false },
        { written: '${env:NO:-x}', text: 'x', copied: false },
        { written: '$${', text: '${', copied: false },
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const expansion = expand(pieces.map((part) => part.written).join(''), ENV);
        fc.pre(expansion !== undefined);
        let at = 0;
        let raw = 0;
        for (const part of pieces) {
          for (let index = 0; index < part.text.length; index++) {
            expect(writtenOffset(expansion, at + index)).toBe(part.copied ? raw + index : raw);
          }
          at += part.text.length;
          raw += part.written.length;
        }
        expect(expansion.text.length).toBe(at);
      }),
    );
  });

  test('a message gets its references back', () => {
    const expansion = expand('${env:NAME} and ${env:EMPTY}', ENV)!;
    expect(withoutValues('unknown value: value', expansion)).toBe('unknown ${env:NAME}: ${env:NAME}');
  });
});
