/**
 * The real program under the memory limit of the image, over a service with hostile responses. It stays within the
 * limit, its probes respond in the meantime, and a second account is read.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SourceView } from '#operate/contract/status.ts';
import { addressOf } from '../daemon-world.ts';
import type { Harm } from './harms.ts';
import { httpSink } from '../http-sink.ts';
import { opsd, type Program } from '../program.ts';
import { tempDir } from '../temp-dir.ts';
import { until } from '../until.ts';

/** Limit of the shipped Deployment. Node uses half of it as heap. */
const LIMIT_MIB = 512;
/** Items that are requested concurrently. */
const KEYS = Array.from({ length: 4 }, (_, at) => `key-${at}`);
/** A slower probe counts as one without a response. */
const HANGS_MS = 60_000;

/** Expects that hostile responses neither exceed the memory limit nor block the probes. */
export async function expectSafe(harms: readonly Harm[]): Promise<void> {
  const good = await httpSink((_request, response) => void response.end('{"logs":[],"messages":[]}'));
  const hostile = await httpSink();
  const daemon = daemonOver(good.url, hostile.url);
  const url = await addressOf(daemon);
  const sources = async (account: string): Promise<readonly SourceView[]> => {
    const answer = await fetch(`${url}/api/v1/sources`, { signal: AbortSignal.timeout(HANGS_MS) });
    const all = ((await answer.json()) as { readonly sources: readonly SourceView[] }).sources;
    return all.filter((source) => source.account === account && source.off === undefined);
  };

  const hasEnded = (): boolean => daemon.child.exitCode !== null || daemon.child.signalCode !== null;
  /** Every path that the collectors request. */
  const paths = new Set<string>();
  for (const { what, answer } of harms) {
    const earlier = hostile.requests.length;
    const requested = (): Set<string> =>
      new Set(hostile.requests.slice(earlier).map(({ url: path }) => path.replace(/\?.*/, '')));
    hostile.answerWith(answer());
    // A read in progress may have begun before: each collector must have requested the harm, and then end one read.
    // The paths of their requests are known after the first harm: they read it twice.
    const reads = paths.size === 0 ? 2 : 1;
    await until({ what: `all has been requested: ${what}` }, () => hasEnded() || paths.isSubsetOf(requested()));
    const before = new Map((await sources('hostile')).map(({ collector, runs }) => [collector, runs]));
    let probed = 0;
    await until({ what: `all has been read: ${what}` }, async () => {
      if (hasEnded()) return true;
      const probe = await fetch(`${url}/-/healthy`, { signal: AbortSignal.timeout(HANGS_MS) });
      if (probe.status === 200) probed += 1;
      const now = await sources('hostile');
      return now.every(({ collector, runs }) => runs >= before.get(collector)! + reads);
    });
    for (const path of requested()) paths.add(path);
    expect(daemon.stderr(), what).not.toContain('heap out of memory');
    expect(probed, what).toBeGreaterThan(0);
    expect(peakMib(daemon), what).toBeLessThan(LIMIT_MIB);
  }
  for (const { state } of await sources('good')) expect(state).toBe('ok');
  await daemon.stop();
}

function daemonOver(good: string, hostile: string): Program {
  const file = join(tempDir(), 'opsd.yaml');
  writeFileSync(
    file,
    `server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
accounts:
  - name: good
    messageApi: { url: "${good}", token: token }
    collectors: { logs: { every: 1s, lag: 1s }, workflowDlq: { every: 1s }, urlGroups: { enabled: false } }
  - name: hostile
    messageApi: { url: "${hostile}", token: token }
    client: { requestsPerSecond: 100, timeout: 5s }
    flowControlKeys: [${KEYS.join(', ')}]
    collectors:
      logs: { every: 1s, lag: 1s }
      workflowDlq: { every: 1s, full: 10s }
      flowControl: { every: 1s }
      urlGroups: { every: 1s }
`,
  );
  return opsd(['run', '--config', file], { env: { NODE_OPTIONS: `--max-old-space-size=${LIMIT_MIB / 2}` } });
}

/** Returns the peak memory of the process. */
function peakMib({ pid }: Program): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kib) / 1_024;
}
