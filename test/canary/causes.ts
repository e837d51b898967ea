/** All causes, and the cases of the matrix. */
import { createHash } from 'node:crypto';
import type { CanarySize } from '#foundation/domain/canary.ts';
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { DELIVERY_CAUSES } from './causes-delivery.ts';
import { PUBLISH_CAUSES } from './causes-publish.ts';
import { RECEIVER_CAUSES } from './causes-receiver.ts';
import { pick, type Cause, type Via } from './cause.ts';

export const CAUSES: readonly Cause[] = [...PUBLISH_CAUSES, ...DELIVERY_CAUSES, ...RECEIVER_CAUSES];

/** Routes, the most frequent ones more often. */
const VIAS: readonly Via[] = ['url', 'url', 'key', 'group', 'workflow'];

export interface Case {
  /** One cause, or two at the same time. */
  readonly causes: readonly Cause[];
  readonly size: CanarySize;
  readonly seed: number;
  readonly via: Via;
  readonly signed: boolean;
}

/** Returns every cause at both sizes, with these seeds. The seeds choose the routes and all that causes leave open. */
export function singles(seeds: readonly number[]): readonly Case[] {
  return seeds.flatMap((seed) => CAUSES.flatMap((cause) => bothSizes([cause], seed)));
}

/** Returns each pair of causes that can happen together, at both sizes. */
export function pairs(seed: number): readonly Case[] {
  return CAUSES.flatMap((one, at) => CAUSES.slice(at + 1).flatMap((other) => bothSizes([one, other], seed)));
}

/** Returns so many of the cases, always the same ones. */
export function some(cases: readonly Case[], count: number): readonly Case[] {
  const random = seededRandom(cases.length);
  const lots = cases.map((one) => ({ one, lot: random() })).toSorted((a, b) => a.lot - b.lot);
  return lots.slice(0, count).map(({ one }) => one);
}

function bothSizes(causes: readonly Cause[], seed: number): readonly Case[] {
  const name = causes.map((cause) => cause.name).join('+');
  const random = seededRandom(createHash('sha256').update(`${seed} ${name}`).digest().readUInt32LE());
  return (['small', 'real'] as const).flatMap((size) => caseOf(causes, size, random) ?? []);
}

/** Returns undefined for causes that exclude each other. */
function caseOf(causes: readonly Cause[], size: CanarySize, random: Random): Case | undefined {
  const vias = VIAS.filter((via) => causes.every((cause) => cause.vias?.includes(via) ?? true));
  const signatures = [true, false].filter((signed) => causes.every((cause) => (cause.signed ?? signed) === signed));
  const skewed = causes.filter(({ skewMs }) => skewMs !== undefined);
  if (vias.length === 0 || signatures.length === 0 || skewed.length > 1) return undefined;
  const seed = Math.floor(random() * 2 ** 31);
  return { causes, size, seed, via: pick(random, vias), signed: pick(random, signatures) };
}
