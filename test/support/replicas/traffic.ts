/** Traffic of a campaign: deliveries, failures, and failed runs that policies resume. */
import type { RunningEmulator } from '#emulator/emulator.ts';
import type { Answer } from '../http-sink.ts';
import { publish, trigger } from '../service.ts';
import { FAILED, OLD, type CampaignAccount } from './settings.ts';

const HOUR_MS = 3_600_000;
/** Messages that were in the DLQ before the campaign, of each account. */
const OLD_MESSAGES = 40;
/** Failed runs that were in the DLQ before the campaign, of each account. */
const OLD_RUNS = 4;
const EVERY_MS = 400;

export interface TrafficDeps {
  readonly emulator: RunningEmulator;
  readonly sinkUrl: string;
  readonly accounts: readonly CampaignAccount[];
  readonly below: (max: number) => number;
}

/** Fails the first request to each path below `/once`, and all requests below `/bad`. */
export function answerTraffic(): Answer {
  const tried = new Set<string>();
  return ({ url }, response) => {
    const fails = url.startsWith('/bad') || (url.startsWith('/once') && !tried.has(url));
    if (fails) tried.add(url);
    response.writeHead(fails ? 503 : 200).end();
  };
}

export class Traffic {
  readonly #deps: TrafficDeps;
  #number = 0;

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
  }

  /** Creates what exists before the first replica starts. */
  async begin(): Promise<void> {
    const { emulator, sinkUrl, accounts } = this.#deps;
    const agoMs = 3 * HOUR_MS;
    const messages = { url: `${sinkUrl}/bad/mail`, status: 500, labels: [OLD], agoMs, count: OLD_MESSAGES };
    const runs = { url: `${sinkUrl}/good/flow`, status: 503, labels: [FAILED], agoMs, count: OLD_RUNS };
    for (const { name, prunes } of accounts) {
      await emulator.control.seed({ account: name, deadLetters: prunes ? [messages] : [], failedRuns: [runs] });
    }
  }

  /** Runs until the returned function is called, which resolves once all of its requests have ended. */
  run(): () => Promise<void> {
    const end = new AbortController();
    const running = (async () => {
      while (!end.signal.aborted) {
        // The service may close an idle connection at the moment of a request.
        await this.#burst().catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
    })();
    return () => {
      end.abort();
      return running;
    };
  }

  async #burst(): Promise<void> {
    const { accounts, below } = this.#deps;
    const chosen = Array.from({ length: 4 }, () => accounts[below(accounts.length)]!);
    await Promise.all(chosen.map((account) => this.#onAccount(account)));
  }

  async #onAccount({ token }: CampaignAccount): Promise<void> {
    const { emulator, sinkUrl, below } = this.#deps;
    const service = { url: emulator.url, token };
    const number = (this.#number += 1);
    const to = (path: string, retries: number): Promise<string> =>
      publish(service, `${sinkUrl}/${path}`, { 'Svc-Retries': String(retries), 'Svc-Retry-Delay': '300' });
    await Promise.all([to('good', 1), below(2) === 0 ? to(`once/${number}`, 2) : to('bad', 0)]);
    if (below(2) === 0) return;
    const workflow = below(4) === 0 ? 'bad/flow' : `once/flow/${number}`;
    await trigger(service, `${sinkUrl}/${workflow}`, { 'Svc-Retries': '0', 'Svc-Label': FAILED });
  }
}
