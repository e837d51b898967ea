/** Hundreds of failed runs, each of a separate workflow, so that one run of a policy may resume them all. */
import type { Emulator } from '#emulator/emulator.ts';
import { seededRandom } from '#foundation/platform/random.ts';
import { faultProxy, type FaultProxy } from './fault-proxy.ts';
import { httpSink, type HttpSink } from './http-sink.ts';
import { testEmulator } from './test-emulator.ts';

export interface BulkWorld {
  readonly emulator: Emulator;
  /** Destination of resumed runs; responds 200 until set otherwise. */
  readonly destination: HttpSink;
  /** Creates a proxy to the service for each daemon. */
  road(): Promise<Road>;
  /** Adds runs with the label `billing` that failed an hour ago. */
  failRuns(count: number): void;
}

export interface Road extends FaultProxy {
  /** The dlqIds of resumes that reached the proxy, in order, whether or not they passed. */
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
