/** Valid rules of faults. Unknown fields are rejected, so that a typing error causes no silent success. */
import { z } from 'zod';
import type { FaultRule } from '../http/faults.ts';
import { ApiError } from '../state/api-error.ts';
import { problemsOf } from './problems.ts';

const count = z.int().min(1).max(1_000_000);
const milliseconds = z.int().min(0);
const text = z.string().min(1);
const share = z.number().min(0).max(1);
const names = z.array(text).min(1);
const FAULT = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('latency'), ms: z.int().min(0).max(600_000) }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    error: z.string().exactOptional(),
    retryAfter: z.int().min(0).exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('rate-limit'),
    form: z.enum(['burst', 'daily']),
    limit: z.int().min(0).exactOptional(),
    resetMs: milliseconds.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('lost') }),
  z.strictObject({ kind: z.literal('truncated'), how: z.enum(['json', 'connection']).exactOptional() }),
  z.strictObject({ kind: z.literal('ignored-filters'), names: names.exactOptional() }),
  z.strictObject({ kind: z.literal('repeated-cursor') }),
  z.strictObject({ kind: z.literal('missing-fields'), fields: names }),
  z.strictObject({ kind: z.literal('seconds'), fields: names.exactOptional() }),
  z.strictObject({ kind: z.literal('late'), ms: milliseconds, share: share.exactOptional() }),
  z.strictObject({
    kind: z.literal('duplicate'),
    share: share.exactOptional(),
    when: z.enum(['at-once', 'later']).exactOptional(),
  }),
  z.strictObject({ kind: z.literal('missing'), share }),
  z.strictObject({ kind: z.literal('clock-skew'), ms: z.int() }),
]);
export const FAULT_RULE = z.strictObject({
  operations: names.exactOptional(),
  method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).exactOptional(),
  path: z.string().startsWith('/').exactOptional(),
  skip: z.int().min(0).exactOptional(),
  times: count.exactOptional(),
  probability: share.exactOptional(),
  fault: FAULT,
});

/** @throws {ApiError} 400 with every problem and its place */
export function readFaultRule(value: unknown): FaultRule {
  const { success, data, error } = FAULT_RULE.safeParse(value);
  if (!success) throw new ApiError(400, problemsOf(error, 'the rule'));
  return data;
}
