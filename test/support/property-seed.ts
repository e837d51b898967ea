/**
 * Properties draw equal cases in each test run, so that a failure belongs to a change. Each round in test/soak draws
 * others.
 */
import fc from 'fast-check';

if (process.env['OPSD_TEST_CASES'] === undefined) fc.configureGlobal({ seed: 34 });
