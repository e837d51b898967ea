/** Faults of one round: a replica, a link or the database fails at a chosen point, and recovers. */
import { until } from '../until.ts';
import { POINTS, type Fate, type Point } from './points.ts';
import type { ReplicaHost } from './replica-host.ts';
import type { World } from './world.ts';

/** Faults that the simulation does not have, or only assumes. */
export const FAULTS = ['kill two', 'pause', 'half-open', 'restart', 'outage', 'stop'] as const;
export type FaultName = (typeof FAULTS)[number];

/** Points at which each fault may strike. */
const STRIKES: Readonly<Record<FaultName, readonly Point[]>> = {
  'kill two': POINTS,
  pause: POINTS,
  'half-open': ['commit', 'intent'],
  restart: ['commit', 'intent'],
  outage: ['commit', 'request'],
  stop: ['request', 'response'],
};

const PATIENCE_MS = 3_000;
/** Largest delay of a fault that strikes at no point. */
const ANY_MS = 1_500;

export interface Struck {
  readonly fault: FaultName;
  readonly point: Point | 'any';
}

/** Runs one fault and repairs it. Replicas that it ended run again. */
export async function strike(world: World, fault: FaultName): Promise<Struck> {
  const { below, hosts, points } = world;
  const [victim, other] = hosts.toSorted(() => below(3) - 1) as [ReplicaHost, ReplicaHost | undefined];
  const meant = below(4) === 0 ? undefined : STRIKES[fault][below(STRIKES[fault].length)];
  const trap = meant && points.arm(victim.name, meant, below(4));
  const hit = trap?.hit.then(() => meant);
  const point = (await Promise.race([hit, pause(trap === undefined ? below(ANY_MS) : PATIENCE_MS)])) ?? 'any';
  /** True to release the held data only after the takeover. */
  const isLate = below(2) === 0;
  const fate: Fate = below(2) === 0 ? 'pass' : 'drop';
  const release = (when: 'early' | 'late', how: Fate = fate): void => {
    if ((when === 'late') === isLate) trap?.release(how);
  };
  switch (fault) {
    case 'kill two':
      await kill(world, other === undefined ? [victim] : [victim, other], release);
      break;
    case 'pause':
      await pauseProcess(world, victim, release);
      break;
    case 'half-open':
      await cutOff(world, victim, release);
      break;
    case 'restart':
      await world.server.stop(isLate ? 'INT' : 'KILL');
      await world.server.restart();
      trap?.release(fate);
      break;
    case 'outage':
      await world.server.stop(isLate ? 'INT' : 'KILL');
      release('early');
      await pause(1.5 * world.leaseMs);
      await world.server.restart();
      release('late');
      break;
    case 'stop': {
      const owned = world.witness.ownedBy(victim.name);
      const stopped = victim.stop();
      trap?.release('pass');
      await stopped;
      world.handovers.expect(owned, { fault });
      if (hosts.length > 1) await taken(world, 'handovers');
      world.start(victim);
    }
  }
  return { fault, point };
}

type Release = (when: 'early' | 'late', how?: Fate) => void;

async function kill(world: World, dead: readonly ReplicaHost[], release: Release): Promise<void> {
  await Promise.all(
    dead.map(async (host) => {
      const owned = world.witness.ownedBy(host.name);
      await host.kill();
      world.takeovers.expect(owned, { fault: 'kill two' });
    }),
  );
  release('early');
  const isAtOnce = world.below(2) === 0 || world.hosts.every(({ isRunning }) => !isRunning);
  if (isAtOnce) for (const host of dead) world.start(host);
  await taken(world, 'takeovers');
  release('late');
  if (!isAtOnce) for (const host of dead) world.start(host);
}

async function pauseProcess(world: World, victim: ReplicaHost, release: Release): Promise<void> {
  const owned = world.witness.ownedBy(victim.name);
  victim.pause();
  // The process gets it when it continues.
  release('early', 'pass');
  if (world.hosts.length > 1) world.takeovers.expect(owned, { fault: 'pause', from: victim.name });
  await Promise.all([pause(2 * world.leaseMs), taken(world, 'takeovers')]);
  release('late', 'pass');
  victim.resume();
}

async function cutOff(world: World, victim: ReplicaHost, release: Release): Promise<void> {
  const isShort = world.below(4) === 0;
  const owned = world.witness.ownedBy(victim.name);
  victim.cutOff();
  release('early');
  if (isShort || world.hosts.length === 1) {
    await pause(world.leaseMs / 2);
  } else {
    world.takeovers.expect(owned, { fault: 'half-open', from: victim.name });
    await Promise.all([pause(2 * world.leaseMs), taken(world, 'takeovers')]);
  }
  victim.heal();
  release('late');
}

/** Waits until each account has a new owner that acts. */
async function taken(world: World, which: 'takeovers' | 'handovers'): Promise<void> {
  await until({ what: `${which} of ${world[which].open.join(' ')}` }, () => world[which].open.length === 0);
}

async function pause(ms: number): Promise<undefined> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
