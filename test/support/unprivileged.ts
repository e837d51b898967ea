/**
 * Runs `work` as a user to whom file permissions apply, which is not the case for root. The required modules must
 * already be loaded.
 */
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
