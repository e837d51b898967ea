import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Returns the output of `promtool check metrics` for a scrape; empty when it has no complaint. */
export async function promtoolSays(promtool: string, text: string): Promise<string> {
  const check = promisify(execFile)(promtool, ['check', 'metrics']);
  check.child.stdin!.end(text);
  const { stdout, stderr } = await check;
  return stdout + stderr;
}
