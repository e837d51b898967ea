/** Dependencies and state that the rooms of the engine share. */
import type { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { Policy } from '../../policies/policy.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';
import type { Authority } from './authority.ts';
import type { Conditions } from './conditions.ts';
import type { Rejections } from './rejections.ts';

export interface EngineParts extends EngineDeps {
  /** Policies by name; those of manual plans come and go. */
  readonly byName: Map<string, Policy>;
  readonly authority: Authority;
  readonly conditions: Conditions;
  readonly rejections: Rejections;
  /** Actions between their reservation and their outcome, by run and target. */
  readonly inFlight: Set<string>;
  /** Groups with a step in progress, by policy and group. */
  readonly inStep: Set<string>;
  /** Order of the changes of campaigns with their conditions: the last change decides which condition is active. */
  readonly verdicts: OneByOne;
  /** Time of the last listing of each account by settling, on the monotonic clock. */
  readonly listedAt: Map<string, number>;
}
