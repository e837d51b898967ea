import { getOrAdd } from '#foundation/platform/get-or-add.ts';

/** Loads a value for each account at its first use. A failed load is repeated at the next use. */
export function loadedOnce<T>(load: (account: string) => Promise<T>): (account: string) => Promise<T> {
  const loaded = new Map<string, Promise<T>>();
  return (account) =>
    getOrAdd(loaded, account, () => {
      const loading = load(account);
      loading.catch(() => loaded.delete(account));
      return loading;
    });
}
