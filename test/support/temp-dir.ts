import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a folder that is removed after the test. The path is short enough for unix sockets. */
export function tempDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'opsd-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
