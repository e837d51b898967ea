import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** System tests that take longest, longest first. They start first, so that none of them runs alone at the end. */
const LONGEST = [
  'dashboards',
  'image',
  'republish',
  'pages',
  'simulation',
  'alerts-fire',
  'rules',
  'night',
  'package',
  'incidents',
  'replicas',
  'hostile-service',
  'voices',
  'helm',
  'demo',
  'response-times',
  'bench',
  'deploy',
  'canary-matrix',
  'retrigger-killed',
  'alertmanager-loop',
];

/** Each worker loads and compiles the sources: more than three cost more than they gain on two cores. */
const UNIT_WORKERS = 3;
/** Two cores are busy with six, because most system tests wait for other programs. Eight slow down the longest one. */
const SYSTEM_WORKERS = 6;

/** A limit on hanging, longer than that of `until`, which names what hangs. */
const HANGS_MS = 900_000;

/** No test fails because the machine is busy. By default, `expect.poll` ends after a second. */
const PATIENT = { testTimeout: HANGS_MS, hookTimeout: HANGS_MS, expect: { poll: { timeout: HANGS_MS / 2 } } };

/** Starts the longest files first. A clean checkout knows no durations, and vitest then starts the largest files first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.indexOf(basename(moduleId, '.test.ts'));
      return place === -1 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: [
      'test/support/postgres/report-server.ts',
      'test/support/compile-cache.ts',
      'test/support/memory-dir.ts',
    ],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts', 'emulator/test/**/*.test.ts'],
          exclude: ['test/system/**', 'test/soak/**'],
          setupFiles: ['test/support/property-seed.ts'],
          unstubEnvs: true,
          ...PATIENT,
          maxWorkers: UNIT_WORKERS,
          sequence: { groupOrder: 0 },
          // Tests own their world and modules keep no state, so files may share a worker: a third of the time is saved.
          isolate: false,
          restoreMocks: true,
        },
      },
      {
        test: {
          // Whole programs, other programs (Prometheus, Chromium), kill -9: slower, and not many at once.
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: 'test/support/bundle.ts',
          ...PATIENT,
          maxWorkers: SYSTEM_WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // Minutes of random input; `npm run soak` alone.
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
