/** Lets every Node that a test starts use one compile cache: without it, most of a short process is its TypeScript. */
import { join } from 'node:path';

export function setup(): void {
  process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../node_modules/.cache/node');
}
