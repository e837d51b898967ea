/** The issue forms have the documented form; GitHub silently hides a form with an error. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, '.github/ISSUE_TEMPLATE');
const FORMS = readdirSync(FOLDER).filter((name) => name !== 'config.yml');
const read = (name: string): unknown => parse(readFileSync(join(FOLDER, name), 'utf8'));

const text = z.string().trim().min(1);
const validations = z.strictObject({ required: z.boolean() }).optional();
const id = z.string().regex(/^[A-Za-z0-9_-]+$/);
const field = { label: text, description: text.optional() };
const typed = { ...field, placeholder: text.optional(), value: text.optional() };
const choices = z
  .array(text)
  .min(1)
  .refine((options) => new Set(options).size === options.length, 'options repeat');

const element = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: text }) }),
  z.strictObject({ type: z.literal('input'), id, attributes: z.strictObject(typed), validations }),
  z.strictObject({
    type: z.literal('textarea'),
    id,
    attributes: z.strictObject({ ...typed, render: text.optional() }),
    validations,
  }),
  z.strictObject({
    type: z.literal('dropdown'),
    id,
    attributes: z.strictObject({
      ...field,
      options: choices,
      multiple: z.boolean().optional(),
      default: z.int().min(0).optional(),
    }),
    validations,
  }),
  z.strictObject({
    type: z.literal('checkboxes'),
    id,
    attributes: z.strictObject({
      ...field,
      options: z.array(z.strictObject({ label: text, required: z.boolean().optional() })).min(1),
    }),
  }),
]);

const form = z.strictObject({
  name: text,
  description: text,
  title: text.optional(),
  labels: z.array(text).optional(),
  assignees: z.array(text).optional(),
  body: z
    .array(element)
    .refine((body) => body.some(({ type }) => type !== 'markdown'), 'only Markdown')
    .refine((body) => unique(body.flatMap((part) => ('id' in part ? part.id : []))), 'ids repeat')
    .refine(
      (body) => unique(body.flatMap((part) => ('label' in part.attributes ? part.attributes.label : []))),
      'labels repeat',
    ),
});

const chooser = z.strictObject({
  blank_issues_enabled: z.boolean(),
  contact_links: z.array(z.strictObject({ name: text, url: z.url(), about: text })),
});

function unique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

test('there is a form for bugs and one for features, with different names', () => {
  expect(FORMS.toSorted()).toEqual(['bug.yml', 'feature.yml']);
  expect(unique(FORMS.map((name) => form.parse(read(name)).name))).toBe(true);
});

test.each(FORMS)('%s has the documented form', (name) => {
  expect(form.safeParse(read(name)).error?.issues ?? []).toEqual([]);
});

test('a report has what an answer needs', () => {
  const required = form.parse(read('bug.yml')).body.flatMap((part) => {
    return 'validations' in part && part.validations?.required === true ? [part.id] : [];
  });
  expect(required).toEqual(['observed', 'steps', 'harm', 'version', 'installation']);
});

test('the chooser has the documented form', () => {
  expect(chooser.safeParse(read('config.yml')).error?.issues ?? []).toEqual([]);
});

describe('a form is refused', () => {
  const input = { type: 'input', id: 'version', attributes: { label: 'Version' } };
  const good = { name: 'Bug', description: 'A bug.', body: [input] };

  test('only with a fault', () => {
    expect(form.safeParse(good).success).toBe(true);
  });

  test.each<[string, object]>([
    ['an unknown key', { ...good, about: 'x' }],
    ['no description', { name: 'Bug', body: [input] }],
    ['an empty body', { ...good, body: [] }],
    ['only Markdown', { ...good, body: [{ type: 'markdown', attributes: { value: 'x' } }] }],
    ['an unknown type', { ...good, body: [{ ...input, type: 'number' }] }],
    ['a repeated id', { ...good, body: [input, { ...input, attributes: { label: 'Other' } }] }],
    ['a repeated label', { ...good, body: [input, { ...input, id: 'other' }] }],
    [
      'a dropdown whose option is a boolean',
      { ...good, body: [{ ...input, type: 'dropdown', attributes: { label: 'Sure', options: [true] } }] },
    ],
    [
      'a dropdown that repeats an option',
      { ...good, body: [{ ...input, type: 'dropdown', attributes: { label: 'Sure', options: ['a', 'a'] } }] },
    ],
  ])('with %s', (_what, faulty) => {
    expect(form.safeParse(faulty).success).toBe(false);
  });
});
