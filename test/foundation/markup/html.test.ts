import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { html } from '#foundation/markup/html.ts';
import { constantMarkup } from '#foundation/markup/markup.ts';

describe('html', () => {
  test('escapes text and attribute values', () => {
    const name = `<script>alert("1")</script>&'`;
    expect(html`<a title="${name}">${name}</a>`.toString()).toBe(
      '<a title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;</a>',
    );
  });

  test('nests, joins lists, omits absent parts', () => {
    const items = ['a', '<b>'].map((text) => html`<i>${text}</i>`);
    expect(html`${items}${undefined}${false}${0}`.toString()).toBe('<i>a</i><i>&lt;b&gt;</i>0');
  });

  test('passes constants unchanged', () => {
    expect(html`${constantMarkup('<style>a > b {}</style>')}`.toString()).toBe('<style>a > b {}</style>');
  });

  test('no text opens a tag or ends an attribute', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(html`${text}`.toString()).not.toMatch(/[<>"']/);
      }),
    );
  });
});
