/**
 * Timers of Node at load. Tests of applications run the emulator in their process: vitest, jest, sinon and `node:test`
 * replace the global ones, and the last two also those of `node:timers`.
 */
import nodeTimers from 'node:timers';

export const timers = { ...nodeTimers };
