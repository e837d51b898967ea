/** Failed runs by the hundred, each of a workflow of its own so that one run of a policy may resume them all. */
import type { Emulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { faultProxy, type FaultProxy } from './fault-proxy.ts';
import { httpSink, type HttpSink } from './http-sink.ts';
import { testEmulator } from './test-emulator.ts';

export interface BulkWorld {
  readonly emulator: Emulator;
  /** Where resumed runs are delivered to; answers 200 until told otherwise. */
  readonly destination: HttpSink;
  /** One road to the service for each daemon. */
  road(): Promise<Road>;
  /** Runs labelled `billing` that failed an hour ago. */
  failRuns(count: number): void;
}

export interface Road extends FaultProxy {
  /** The dlqIds of resumes that came to the road, in order, whether or not they are through. */
  readonly resumes: readonly string[];
}

export async function bulkWorld(): Promise<BulkWorld> {
  const emulator = await testEmulator({ control: true, random: seededRandom(11) });
  const destination = await httpSink();
  let made = 0;
  return {
    emulator,
    destination,
    async road() {
      const proxy = await faultProxy(emulator.url);
      const resumes: string[] = [];
      proxy.admit(async ({ method, url }) => {
        const { pathname, searchParams } = new URL(url, emulator.url);
        if (method === 'POST' && pathname === '/v2/workflows/dlq/resume')
          resumes.push(searchParams.getAll('dlqIds').join());
        return true;
      });
      return { ...proxy, resumes };
    },
    failRuns(count) {
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
