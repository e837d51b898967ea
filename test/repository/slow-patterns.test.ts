import { describe, expect, test } from 'vitest';
import { slowPatterns } from '../slow-patterns.ts';

describe('a slow pattern is found', () => {
  test.each([
    // The two that blocked the event loop.
    ['a start that is tried again', String.raw`text.replace(/([?&#;])([^=&#;]*)=([^&#;]*)/g, '')`],
    ['an end after a run', String.raw`const END = /[. ]+$/;`],
    ['an exchange', String.raw`/^\s*(\w+)?\w*:$/.test(text)`],
    ['a repetition of a repetition', String.raw`/^(a+)+$/.test(text)`],
    ['in a class', String.raw`class A { static readonly #END = /-+$/; }`],
    ['built at run time', 'new RegExp(text)'],
  ])('%s', (_what, source) => {
    expect(slowPatterns(source)).toHaveLength(1);
    expect(slowPatterns(`// bounded: 20 characters\n${source}`)).toEqual([]);
  });
});

test.each([
  String.raw`/^[. ]+/`,
  String.raw`/([?&#;])([^?=&#;]*)=([^&#;]*)/g`,
  String.raw`/(?<!-)-+$/`,
  String.raw`/a{1,9}$/`,
])('%s is not slow', (source) => {
  expect(slowPatterns(source)).toEqual([]);
});
