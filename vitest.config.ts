import { defineConfig } from 'vitest/config';

/** All cores of a small machine; the default leaves one idle. The same for both projects, so that they run together. */
const MAX_WORKERS = 2;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**', 'test/soak/**'],
          setupFiles: ['test/emulator/conformance-setup.ts'],
          unstubEnvs: true,
          // A limit on hanging, not on time: a busy machine is no failure.
          testTimeout: 60_000,
          maxWorkers: MAX_WORKERS,
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
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: MAX_WORKERS,
        },
      },
      {
        test: {
          // Minutes of random input; `npm run soak` alone.
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
        },
      },
    ],
  },
});
