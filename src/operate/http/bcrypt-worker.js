/** Compares passwords with their hashes in a thread of its own: each costs a tenth of a second of nothing else. */
import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

parentPort?.on('message', (/** @type {{ password: string, hash: string }} */ { password, hash }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage(compareSync(password, hash));
});
