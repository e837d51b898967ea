/**
 * Writes a file completely or not at all, even if the power fails: to another name first, then sync, rename, and sync
 * of its folders. Only the daemon's user can read the file.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '#foundation/platform/make-folder.ts';

/** @throws errors of the file system; the final name then has no new content */
export async function writeDurably(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const created = makeFolder(folder, 0o700);
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  // The folder above records a folder's name, so it is synced as well.
  const last = created === undefined ? folder : dirname(created);
  for (let at = folder; ; at = dirname(at)) {
    await syncFolder(at);
    if (at === last || at === dirname(at)) return;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Returns a name for a file or folder: the text itself if it is safe, else its safe part and its hash. Two texts never
 * share a name, since only names of the second kind contain `~`.
 */
export function safeName(text: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(text)) return text;
  const hash = createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex');
  return `${text.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 40)}~${hash}`;
}
