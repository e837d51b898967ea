/** Applies relabelings of the Prometheus operator with promtool, as Prometheus does before a scrape. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from './program.ts';
import { tempDir } from './temp-dir.ts';

export const promtool = installed('promtool');

/** Returns the labels of a target's series. */
export function labelsOf(
  relabelings: readonly object[],
  target: { readonly address: string; readonly labels: Readonly<Record<string, string>> },
): unknown {
  const snakeCase = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const job = {
    job_name: 'opsd',
    static_configs: [{ targets: [target.address], labels: target.labels }],
    relabel_configs: relabelings.map((one) =>
      Object.fromEntries(Object.entries(one).map(([key, value]) => [snakeCase(key), value])),
    ),
  };
  const file = join(tempDir(), 'prometheus.yaml');
  writeFileSync(file, JSON.stringify({ scrape_configs: [job] }));
  const command = ['check', 'service-discovery', '--timeout=1s', file, 'opsd'];
  const { stdout } = spawnSync(promtool!, command, { encoding: 'utf8' });
  const [found] = JSON.parse(stdout) as { labels: Readonly<Record<string, string>> }[];
  return Object.fromEntries(Object.entries(found!.labels).filter(([name]) => !name.startsWith('__')));
}
