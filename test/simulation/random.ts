/** Random numbers of the replaced modules, which may be used before the first history. */
import { seededRandom, type Random } from '#foundation/platform/random.ts';
import { presentLoop, type Loop } from './loop.ts';

const sources = new WeakMap<Loop, Map<string, Random>>();
const early = seededRandom(0);

export function randomOf(purpose: string): Random {
  let loop: Loop;
  try {
    loop = presentLoop();
  } catch {
    return early;
  }
  let own = sources.get(loop);
  if (own === undefined) sources.set(loop, (own = new Map()));
  let random = own.get(purpose);
  if (random === undefined) own.set(purpose, (random = loop.random(purpose)));
  return random;
}
