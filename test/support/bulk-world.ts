/** Hundreds of failed runs, each of a separate workflow, so that one run of a policy may resume them all. */
import { seededRandom } from '#foundation/platform/random.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultProxy } from './fault-proxy.ts';
import { httpSink } from './http-sink.ts';
import { opsd } from './program.ts';
import { TEST_TOKEN } from './service.ts';
import { tempDir } from './temp-dir.ts';
import { testEmulator } from './test-emulator.ts';

export type BulkWorld = Awaited<ReturnType<typeof bulkWorld>>;
export type Instance = Awaited<ReturnType<BulkWorld['instance']>>;

export async function bulkWorld() {
  const emulator = await testEmulator({ control: true, random: seededRandom(11) });
  const destination = await httpSink();
  let made = 0;
  return {
    emulator,
    /** Destination of resumed runs; responds 200 until set otherwise. */
    destination,
    /** Prepares a daemon with a store and a proxy of its own, which resumes the runs. */
    async instance({ requestsPerSecond = 100, limits = '{}' } = {}) {
      const proxy = await faultProxy(emulator.url);
      const resumes: string[] = [];
      proxy.admit(async ({ method, url }) => {
        const { pathname, searchParams } = new URL(url, emulator.url);
        if (method === 'POST' && pathname === '/v2/workflows/dlq/resume')
          resumes.push(searchParams.getAll('dlqIds').join());
        return true;
      });
      const folder = tempDir();
      const config = join(folder, 'opsd.yaml');
      writeFileSync(
        config,
        `
server: { listen: "127.0.0.1:0" }
storage: { sqlite: { path: opsd.db } }
log: { level: debug }
engine: { killSwitchFile: PAUSE }
accounts:
  - name: production
    messageApi: { url: "${proxy.url}", token: ${TEST_TOKEN} }
    client: { requestsPerSecond: ${requestsPerSecond} }
    collectors: { logs: { enabled: false }, accountStats: { enabled: false }, urlGroups: { enabled: false } }
policies:
  - name: resume-billing
    account: production
    mode: enforce
    every: 1s
    select: { resource: workflow-dlq, anyLabel: [billing] }
    action: { type: workflow-dlq.resume, retries: 0 }
    limits: ${limits}
`,
      );
      return {
        folder,
        /** The dlqIds of resumes that reached the proxy, in order, whether or not they passed. */
        road: { ...proxy, resumes },
        run: (env: Record<string, string> = {}) => opsd(['run', '--config', config], { env }),
        command: async (...args: string[]) => {
          const program = opsd([...args, '--config', config]);
          const { code } = await program.ended;
          return { code, stdout: program.stdout() + program.stderr() };
        },
      };
    },
    /** Adds runs with the label `billing` that failed an hour ago. */
    failRuns(count: number): void {
      const failedRuns = Array.from({ length: count }, () => ({
        url: `${destination.url}/workflow/${++made}`,
        status: 503,
        labels: ['billing'],
        agoMs: 3_600_000,
      }));
      emulator.control.seed({ failedRuns });
    },
  };
}
