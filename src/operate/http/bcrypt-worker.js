/** Compares passwords with their hashes in a separate thread: each comparison takes a tenth of a second of CPU time. */
import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';

parentPort?.on('message', (/** @type {{ password: string, hash: string }} */ { password, hash }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
  parentPort?.postMessage(compareSync(password, hash));
});
