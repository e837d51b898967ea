/** Commands about the daemon itself: pauses, the store, and reloads; and operations of the service. */
import { z } from 'zod';
import { nameField, reasonField } from './parameters.ts';
import { route } from './route.ts';
import * as s from './schema.ts';

const policy = nameField('the name of a policy').exactOptional();

/** The pause applies before the next request of any run, also after restarts, until an operator lifts it. */
export const pauseEngine = route('POST /api/v1/pause', {
  id: 'pause',
  summary: 'Pause the engine or a policy',
  role: 'operator',
  command: 'opsd pause --reason TEXT',
  body: z.strictObject({ reason: reasonField(), policy }),
  form: '{"reason": "TEXT", "policy": "NAME"}; without a policy the whole engine is paused.',
  answer: s.object({ paused: s.text('`engine`, or `policy/NAME`.') }),
  errors: [404],
});

/**
 * Without a policy, lifts every pause. With a policy, lifts its own pause and the halts of its groups, or of one group.
 * The kill switch and a pause of the engine can remain.
 */
export const unpauseEngine = route('POST /api/v1/unpause', {
  id: 'unpause',
  summary: 'Lift pauses and halts',
  role: 'admin',
  command: 'opsd unpause --reason TEXT',
  body: z
    .strictObject({ reason: reasonField(), policy, group: nameField('a group of the policy').exactOptional() })
    .refine((given) => given.group === undefined || given.policy !== undefined, {
      path: ['group'],
      message: 'requires policy: the policy of the group',
    })
    .meta({ dependentRequired: { group: ['policy'] } }),
  form: '{"reason": "TEXT", "policy": "NAME", "group": "GROUP"}; without a policy every pause is lifted.',
  answer: s.object({
    lifted: s.count(),
    stillPaused: s.opt(s.text('Reason why the policy or the engine is still paused, and how to end it.')),
  }),
  errors: [404],
});

export const backupState = route('POST /api/v1/state/backup', {
  id: 'backupState',
  summary: 'Copy the store to a file of the daemon’s machine',
  role: 'socket',
  command: 'opsd state backup FILE',
  body: z.strictObject({ file: nameField('an absolute path') }),
  form: '{"file": "/ABSOLUTE/PATH"}',
  answer: s.object({ bytes: s.count() }),
  errors: [409],
});

/** Responds with the reason why the store was not trusted; null if nothing had to be adopted. */
export const adoptState = route('POST /api/v1/state/adopt', {
  id: 'adoptState',
  summary: 'Trust a restored store again',
  role: 'admin',
  command: 'opsd state adopt --reason TEXT',
  body: z.strictObject({ reason: reasonField() }),
  form: '{"reason": "TEXT"}',
  answer: s.object({ adopted: s.orNull(s.text()) }),
  errors: [409],
});

/** Responds with the counters that are 0 now, with their labels and former values. */
export const resetCounter = route('POST /api/v1/state/reset-counter', {
  id: 'resetCounter',
  summary: 'Reset counters of an account that a wrong value has ruined',
  role: 'admin',
  command: 'opsd state reset-counter METRIC --account NAME --reason TEXT',
  body: z.strictObject({
    account: nameField('the name of an account'),
    metric: nameField('the name of a counter'),
    labels: z.record(z.string().max(100), z.string().max(1_000)).exactOptional(),
    reason: reasonField(),
  }),
  form: '{"account": "NAME", "metric": "NAME", "labels": {"NAME": "VALUE"}, "reason": "TEXT"}',
  answer: s.object({ reset: s.listOf(s.object({ labels: s.mapOf(s.text()), value: s.number() })) }),
  errors: [404, 409],
});

/** For an invalid configuration, the error has the output of `opsd check`. */
export const reload = route('POST /-/reload', {
  id: 'reload',
  summary: 'Load the configuration again',
  role: 'admin',
  command: 'opsd reload',
  answer: s.object({
    changed: s.flag(),
    webConfig: s.flag('True if only web configuration files differ.'),
    // Hash of the valid configuration.
    hash: s.text(),
  }),
  errors: [409, 422],
});

/** The operation decides on the role. */
export const callOperation = route('POST /api/v1/operations/{id}', {
  id: 'callOperation',
  summary: 'Call an operation of the service by its name',
  role: 'viewer',
  parameter: 'operation',
  answer: s.anything('Response of the service, unchanged except for masked secrets.'),
  errors: [404, 409, 429, 502, 503],
});
