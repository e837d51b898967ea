/** Valid rules of faults. Unknown fields are rejected, so that a typing error causes no silent success. */
import { z } from 'zod';
import { CONNECTION_ERRORS } from '../delivery/delivery-faults.ts';
import { ApiError } from '../state/api-error.ts';
import { STATES } from '../state/message.ts';
import type { OperationFaultRule } from '../http/faults.ts';
import type { DeliveryFaultRule } from '../types/public.ts';
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
const FREQUENCY = {
  skip: z.int().min(0).exactOptional(),
  times: count.exactOptional(),
  probability: share.exactOptional(),
};
export const FAULT_RULE = z.strictObject({
  operations: names.exactOptional(),
  method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).exactOptional(),
  path: z.string().startsWith('/').exactOptional(),
  ...FREQUENCY,
  fault: FAULT,
});

const DELIVERY_FAULT = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('held'), ms: z.int().min(1).exactOptional() }),
  z.strictObject({
    kind: z.literal('unreachable'),
    how: z.enum(Object.keys(CONNECTION_ERRORS) as (keyof typeof CONNECTION_ERRORS)[]),
    error: text.exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('misreported'),
    status: z.int().min(200).max(599),
    sent: z.boolean().exactOptional(),
  }),
  z.strictObject({ kind: z.literal('sent-twice') }),
  z.strictObject({ kind: z.literal('altered'), how: z.enum(['cut', 'changed']) }),
  z.strictObject({ kind: z.literal('unlogged'), states: z.array(z.enum(STATES)).min(1).exactOptional() }),
  z.strictObject({ kind: z.literal('no-callback') }),
]);
export const DELIVERY_FAULT_RULE = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\//, 'must begin with http:// or https://')
    .exactOptional(),
  label: text.exactOptional(),
  ...FREQUENCY,
  fault: DELIVERY_FAULT,
});

/** @throws {ApiError} 400 with every problem and its place */
export const readFaultRule = (value: unknown): OperationFaultRule => read(FAULT_RULE, value);

/** @throws {ApiError} 400 with every problem and its place */
export const readDeliveryFaultRule = (value: unknown): DeliveryFaultRule => read(DELIVERY_FAULT_RULE, value);

function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (!success) throw new ApiError(400, problemsOf(error, 'the rule'));
  return data;
}
