/** Files of commands. */
import { chmodSync, chownSync, renameSync, rmSync, writeFileSync, type Stats } from 'node:fs';

/**
 * Writes a file at once: a reader sees the old contents or the new ones.
 *
 * @param replaced owner and mode to keep, so that the daemon can still read the file
 */
export function writeAtOnce(path: string, text: string, mode: number, replaced?: Stats): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode, flag: 'wx' });
  if (replaced !== undefined) {
    chmodSync(draft, replaced.mode & 0o777);
    if (replaced.uid !== process.getuid?.()) chownSync(draft, replaced.uid, replaced.gid);
  }
  renameSync(draft, path);
}
