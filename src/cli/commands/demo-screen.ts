/**
 * Output of `opsd demo`. On a terminal: the addresses, then a summary that redraws itself, with log lines above it.
 * Elsewhere: one JSON line with the addresses. Both have a line with the address that signs in.
 */
import type { RunningEmulator } from '#emulator/emulator.ts';
import { ownCommand } from '#foundation/domain/own-command.ts';
import type { Timer } from '#foundation/platform/clock.ts';
import { packageVersion } from '#foundation/platform/package-version.ts';
import type { CliIo } from '../command.ts';
import { renderBanner, renderSummary, type SummaryData } from './live-summary.ts';
import { terminalColumns } from '../output.ts';

/** Address of the demo's daemon. */
export interface DemoDaemon {
  readonly address: string;
  readonly socketPath: string;
}

export interface DemoService {
  readonly url: string;
  readonly account: string;
  readonly token: string;
}

export interface DemoScreen {
  /** Sink for log lines while the summary is drawn; absent without a summary. */
  readonly logSink?: { write(text: string): void };
  /** Shows a running daemon until disposal. */
  show(daemon: DemoDaemon, code: string | undefined): Disposable;
}

const REDRAW_MS = 1_000;

export function demoScreen(emulator: RunningEmulator, service: DemoService, io: CliIo): DemoScreen {
  if (io.stdout.isTTY !== true) {
    return {
      show(daemon, code) {
        io.stdout.write(
          `${JSON.stringify({ url: daemon.address, socket: daemon.socketPath, service })}\n${signInLine(daemon, code)}`,
        );
        return { [Symbol.dispose]: () => undefined };
      },
    };
  }
  const color = (io.env['NO_COLOR'] ?? '') === '';
  const figures = countFacts(emulator, service.account);
  let block = '';

  /** Removes the summary, writes the permanent text, and draws the summary again below it. */
  function draw(stays: string, summary: string): void {
    const lines = block.split('\n').length - 1;
    const clear = lines > 0 ? `\u001B[${lines}A\u001B[J` : '';
    block = summary;
    io.stdout.write(`${clear}${stays}${summary}`);
  }

  return {
    logSink: { write: (text) => draw(text, block) },
    show(daemon, code) {
      io.stdout.write(`${renderBanner(banner(daemon, service, io), color)}\n${signInLine(daemon, code)}\n`);
      let timer: Timer;
      let ended = false;
      const refresh = async (): Promise<void> => {
        const status = await readStatus(daemon.address);
        if (ended) return;
        if (status !== undefined) {
          draw('', renderSummary({ ...status, figures: figures() }, terminalColumns(io.stdout), color));
        }
        timer = io.clock.after(REDRAW_MS, () => void refresh());
      };
      timer = io.clock.after(0, () => void refresh());
      return {
        [Symbol.dispose]() {
          ended = true;
          timer.cancel();
          block = '';
          io.stdout.write('\nstopping; press Ctrl-C again to end at once\n');
        },
      };
    },
  };
}

function signInLine({ address }: DemoDaemon, code: string | undefined): string {
  return code === undefined ? '' : `Open ${address}/sign-in?code=${code}\n`;
}

function banner(daemon: DemoDaemon, service: DemoService, { env }: CliIo): Parameters<typeof renderBanner>[0] {
  const command = ownCommand(env, ['--socket', daemon.socketPath]);
  return {
    version: packageVersion(),
    what: 'the daemon over the embedded service, with sample traffic',
    addresses: [
      { label: 'status page', href: `${daemon.address}/` },
      { label: 'metrics', href: `${daemon.address}/metrics` },
      { label: 'embedded service', href: service.url },
    ],
    hints: [
      command('plan resume-billing'),
      command(`pause --reason 'to see it stop'`),
      `curl -H 'Authorization: Bearer ${service.token}' ${service.url}/v2/workflows/dlq`,
      'Press Ctrl-C to stop. The state is temporary.',
    ],
  };
}

/** Counts of the embedded service since the start, independent of what the daemon has read. */
function countFacts(emulator: RunningEmulator, account: string): () => SummaryData['figures'] {
  let delivered = 0;
  let retries = 0;
  let failed = 0;
  emulator.onFact((accountId, fact) => {
    if (accountId !== account || fact.kind !== 'attempt') return;
    if (fact.outcome === 'delivered') delivered++;
    else if (fact.outcome === 'retry') retries++;
    else failed++;
  });
  return () => [
    { label: 'delivered', value: delivered },
    { label: 'attempts to be retried', value: retries },
    { label: 'failed permanently', value: failed },
    { label: 'runs in the workflow DLQ', value: emulator.workflowDlq(account).length },
  ];
}

/** Data of the page, from the API; undefined if the daemon did not respond. */
async function readStatus(address: string): Promise<Omit<SummaryData, 'figures'> | undefined> {
  const paths = ['status', 'sources', 'policies', 'actions?limit=4'];
  try {
    const parts = await Promise.all(
      paths.map(async (path) => {
        const response = await fetch(`${address}/api/v1/${path}`);
        if (!response.ok) throw new Error(`${path} responded with ${response.status}`);
        return (await response.json()) as object;
      }),
    );
    return Object.assign({}, ...parts) as Omit<SummaryData, 'figures'>;
  } catch {
    return undefined;
  }
}
