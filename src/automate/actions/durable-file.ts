/**
 * A file that is there whole, or not at all, also after a power cut: written under another name, synced, renamed, and
 * its folders synced. Only the user of the daemon can read it.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '#foundation/platform/make-folder.ts';

/** @throws errors of the file system; then nothing has the final name that had it not before */
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
  // A folder's name is kept by the folder above it.
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
 * A name for a file or folder out of any text: as it is where that is harmless, else its harmless part and its hash.
 * Two texts never get one name: a `~` is only in names of the second kind.
 */
export function safeName(text: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(text)) return text;
  const hash = createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex');
  return `${text.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 40)}~${hash}`;
}
