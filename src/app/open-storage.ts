import type { Config } from '#config/config.ts';
import { tryAddresses } from './addresses.ts';
import { openLocal } from './local-storage.ts';
import type { Parts } from './parts.ts';
import type { Storage, StorageDeps } from './storage.ts';

/** @throws {Error} if the store is unavailable, or if a replica cannot listen at its addresses */
export async function openStorage(config: Config, deps: StorageDeps, parts: Parts): Promise<Storage> {
  const { postgres } = config.storage;
  const { direct } = deps;
  if (postgres === undefined || direct?.store === 'memory') {
    return openLocal(config, deps, parts);
  }
  if (direct !== undefined) {
    throw new Error('this command changes the store, which replicas share: run it at a running daemon');
  }
  // A replica that cannot listen must not take accounts from the others first.
  await tryAddresses(config);
  return (await import('./shared-storage.ts')).openShared(config, postgres, deps, parts);
}
