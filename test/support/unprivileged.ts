/** Runs `work` as a user whom file permissions hold: as root they hold nobody. Modules it needs must be loaded. */
export async function unprivileged<T>(work: () => T | Promise<T>): Promise<T> {
  const { geteuid, seteuid } = process;
  if (geteuid?.() !== 0 || seteuid === undefined) return await work();
  const NOBODY = 65_534;
  seteuid(NOBODY);
  try {
    return await work();
  } finally {
    seteuid(0);
  }
}
