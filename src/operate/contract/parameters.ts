/** Builders of queries and bodies. Both are strict: an unknown name is rejected, since it would otherwise do nothing. */
import { z } from 'zod';
import { STATUS_FORM } from '#foundation/domain/typed-filters.ts';
import { MAX_PAST_TIME, PAST_TIME, PAST_TIME_FORM } from '#foundation/domain/past-time.ts';

const MAX_TEXT = 1_000;
const MAX_REASON = 500;

/** Text with 1 to `max` characters. */
export function boundedText(max: number) {
  return z.string('must be a string').min(1, 'must not be empty').max(max, `must have at most ${max} characters`);
}

export function textParameter(description: string) {
  return boundedText(MAX_TEXT).exactOptional().describe(description);
}

/** Alternatives: the parameter may be repeated. */
export function textsParameter(description: string) {
  return z.array(boundedText(MAX_TEXT)).exactOptional().describe(description);
}

/** Alternatives: statuses, or classes of them. */
export function statusesParameter(description: string) {
  const wrong = 'must be a status such as 503, or a class such as 5xx';
  return z
    .array(z.string(wrong).regex(STATUS_FORM, wrong))
    .exactOptional()
    .describe(`${description}: \`503\` or \`5xx\`.`);
}

export function choiceField<const V extends string>(values: readonly V[]) {
  return z.enum(values, `must be ${values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`}`);
}

export function limitParameter(bounds: { readonly standard: number; readonly max: number }) {
  const wrong = `must be an integer from 1 to ${bounds.max}`;
  return z
    .preprocess(
      // Number() also accepts texts such as `0x10`, `1e2` and ` 5`.
      (text) => (typeof text === 'string' && /^[1-9]\d*$/.test(text) ? Number(text) : text),
      z.int(wrong).min(1, wrong).max(bounds.max, wrong),
    )
    .default(bounds.standard)
    .describe('Maximum number of rows.');
}

/** @param form of all cursors of the list, default: ids and base64url; the search decides if one is known */
export function cursorParameter(form = /^[\w-]+$/) {
  const wrong = 'must be the cursor of the previous page';
  return z
    .string(wrong)
    .max(MAX_TEXT, wrong)
    .regex(form, wrong)
    .exactOptional()
    .describe('`cursor` of the previous page.');
}

/** @see pastOf */
export function pastParameter(description: string) {
  const wrong = `must be ${PAST_TIME_FORM}`;
  return z
    .string(wrong)
    .max(MAX_PAST_TIME, wrong)
    .regex(PAST_TIME, wrong)
    .exactOptional()
    .describe(`${description}: epoch milliseconds, ISO 8601, or a duration before now, such as \`2h\`.`);
}

/** Bytes, in base64. */
export function bytesField() {
  return z.base64('must be base64').transform((text) => Buffer.from(text, 'base64'));
}

/** Maximum size of a request with the body of a message: 8 MiB as base64. */
export const MAX_MESSAGE_BYTES = 12_582_912;

/** Text of an operator, recorded in the audit log. */
export function reasonField() {
  return boundedText(MAX_REASON).regex(/\S/, 'must not be empty').trim();
}

export function nameField(what: string) {
  const printable = /^\P{Cc}+$/u;
  return z.string(`must be ${what}`).regex(printable, `must be ${what}`);
}
