import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** What `promtool check metrics` has to say of a scrape; empty when nothing. */
export async function promtoolSays(promtool: string, text: string): Promise<string> {
  const check = promisify(execFile)(promtool, ['check', 'metrics']);
  check.child.stdin!.end(text);
  const { stdout, stderr } = await check;
  return stdout + stderr;
}
