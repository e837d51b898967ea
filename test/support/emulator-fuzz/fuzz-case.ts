/**
 * Malformed requests for every operation. A case follows from its seed alone, so that a failure can be had again; seeds
 * that follow each other are of operations that follow each other.
 */
import { seededRandom } from '#foundation/platform/random.ts';
import { Draft, type Credentials } from './draft.ts';
import { OPERATIONS } from './operations.ts';
import { bytesOf } from './request-bytes.ts';
import { BODY_SPOILERS } from './spoil-body.ts';
import { checkPartners, HEADER_SPOILERS } from './spoil-headers.ts';
import { PATH_SPOILERS } from './spoil-path.ts';
import { QUERY_SPOILERS } from './spoil-query.ts';

export interface FuzzCase {
  readonly seed: number;
  readonly operation: string;
  /** What was done to a good request. */
  readonly changes: readonly string[];
  /** Whether it must be refused: else it may be, or be fine. */
  readonly bad: boolean;
  /** A refusal must name one of these; undefined when the place of the fault cannot be told. */
  readonly where: readonly string[] | undefined;
  readonly bytes: Buffer;
  /** Whether the client closes its side after the bytes, as one that is cut off does. */
  readonly cut: boolean;
}

const SPOILERS = [...QUERY_SPOILERS, ...HEADER_SPOILERS, ...PATH_SPOILERS, ...BODY_SPOILERS];
const MOST_CHANGES = 3;

export function fuzzCase(seed: number, credentials: Credentials): FuzzCase {
  const operation = OPERATIONS[seed % OPERATIONS.length]!;
  const draft = new Draft(operation, seededRandom(seed), credentials);
  const spoilers = SPOILERS.filter((spoiler) => spoiler.fits(operation));
  const count = 1 + Math.floor(draft.random() * MOST_CHANGES);
  for (let index = 0; index < count; index++) draft.pick(spoilers).spoil(draft);
  checkPartners(draft);
  return caseOf(draft, seed);
}

/** A request of the operation that is as it should be. */
export function goodCase(name: string, credentials: Credentials): FuzzCase {
  const operation = OPERATIONS.find((one) => one.name === name)!;
  return caseOf(new Draft(operation, seededRandom(1), credentials), 0);
}

function caseOf(draft: Draft, seed: number): FuzzCase {
  const { operation, changes, bad, where, framing } = draft;
  // Whatever else is wrong, that there is no such thing may be told first.
  const ids = operation.takesRest ? [] : draft.path.values();
  return {
    seed,
    operation: operation.name,
    changes,
    bad,
    where: where && [...where, ...ids],
    bytes: bytesOf(draft),
    cut: framing === 'truncated' || framing === 'chunks-cut',
  };
}
