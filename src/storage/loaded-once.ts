/** Loads a value for each account at its first use. A failed load is repeated at the next use. */
export function loadedOnce<T>(load: (account: string) => Promise<T>): (account: string) => Promise<T> {
  const loaded = new Map<string, Promise<T>>();
  return (account) => {
    const known = loaded.get(account);
    if (known !== undefined) return known;
    const loading = load(account);
    loaded.set(account, loading);
    loading.catch(() => loaded.delete(account));
    return loading;
  };
}
