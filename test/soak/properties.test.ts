/** The costly properties of the engine, each with CASES times their cases (default 20). */
import { vi } from 'vitest';

process.env['OPSD_TEST_CASES'] = process.env['CASES'] ?? '20';
vi.setConfig({ testTimeout: 3_600_000 });
await import('../automate/engine/engine.property.test.ts');
await import('../automate/engine/manual.property.test.ts');
await import('../automate/engine/twins.test.ts');
await import('../automate/engine/wire.property.test.ts');
