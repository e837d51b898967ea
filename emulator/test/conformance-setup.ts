/** Fails a test file of the emulator when a row of the conformance table names one of its tests without evidence. */
import { basename, sep } from 'node:path';
import { afterAll, afterEach, expect } from 'vitest';
import type { Evidence } from './conformance-evidence.ts';

const path = expect.getState().testPath ?? '';

if (path.startsWith(import.meta.dirname + sep)) {
  const { takeEvidence, unproven, watchedFiles } = await import('./conformance-evidence.ts');
  const evidence: Evidence[] = [];
  watchedFiles.add(path);
  afterEach(({ task }) => void evidence.push(takeEvidence(task.name)));
  afterAll(async () => {
    const { ROWS } = await import('./conformance.ts');
    const rows = unproven(ROWS, basename(path), evidence);
    if (rows.length > 0) throw new Error(`rows of the conformance table without proof:\n${rows.join('\n')}`);
  });
}
