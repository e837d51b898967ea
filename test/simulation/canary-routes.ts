/**
 * Canaries of the daemon, in every third history, and in all with replicas: these relay what they receive. The seed
 * chooses the route of one of them.
 */
import type { Loop } from './loop.ts';

/** The second one needs a URL Group of this name. The interface has no route through a queue. */
const ROUTES = ['flowControlKey: lane', 'urlGroup: lane', 'workflow: true'] as const;

function routeOf(loop: Loop): (typeof ROUTES)[number] {
  return ROUTES[Math.floor(ROUTES.length * loop.random('canary route')())]!;
}

/** Returns the canaries of the account; undefined in most histories. */
export function canariesOf(loop: Loop): string | undefined {
  if (!loop.hasReplicas && loop.seed % 3 !== 0) return undefined;
  const every = loop.random('canaries')() < 0.5 ? '1m' : '3m';
  return `[{ name: home, every: ${every}, realEvery: 20m }, { name: lane, every: 5m, via: { ${routeOf(loop)} } }]`;
}

export function needsGroup(loop: Loop): boolean {
  return canariesOf(loop) !== undefined && routeOf(loop).startsWith('urlGroup');
}
