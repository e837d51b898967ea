/** Checks of the configuration and of the running daemon. */
import { formatSpan } from '#foundation/domain/time-text.ts';
import type { Config } from '#config/config.ts';
import { formatProblems, loadConfig } from '#config/load.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { socketPathOf } from '#foundation/platform/socket-path.ts';
import { textOption, UsageError, type Call } from '../command.ts';
import { configPath } from '../config-file.ts';
import { exchange, isNobodyThere, daemonPlace, type DaemonCall } from '../daemon-exchange.ts';
import { commandOf, findDaemon } from '../daemon-option.ts';
import { finding, ok, skippedCheck, type Check } from './doctor-check.ts';

interface Configured {
  /** Absent if it is invalid, or another machine's daemon is checked. */
  readonly config?: Config;
  readonly checks: readonly Check[];
}

export function checkConfiguration({ io, values }: Call): Configured {
  if (isDaemonNamed({ values }) && textOption(values, 'config') === undefined) {
    return { checks: [{ check: 'configuration', ...skippedCheck('unknown here; name it with --config') }] };
  }
  const file = configPath(values, io.env);
  const loaded = loadConfig(file, { env: io.env });
  if (loaded.ok) {
    const { accounts, policies } = loaded.config;
    const result = `valid, accounts: ${accounts.length}, policies: ${policies.length}`;
    return { config: loaded.config, checks: [{ check: 'configuration', subject: file, ...ok(result) }] };
  }
  const errors = loaded.problems.filter(({ severity }) => severity === 'error');
  const [first] = formatProblems(errors, { color: false }).split('\n');
  const fix = `\`${commandOf({ io, values: {} })(`check ${file}`)}\` shows every problem`;
  return { checks: [{ check: 'configuration', subject: file, ...finding(`invalid: ${first}`, fix) }] };
}

/** Daemon that responds. */
export interface Running {
  readonly call: DaemonCall;
  readonly status: Readonly<Record<string, unknown>>;
}

/** Checks that the daemon responds, is healthy, and runs with this configuration. */
export async function checkDaemon(
  call: Call,
  config: Config | undefined,
): Promise<{ readonly running?: Running; readonly checks: readonly Check[] }> {
  const daemon = await daemonOf(call, config);
  if (daemon === undefined) return { checks: [] };
  const about = { check: 'daemon', subject: daemonPlace(daemon) };
  let status: Running['status'];
  try {
    status = await exchange(daemon, { method: 'GET', path: '/api/v1/status' });
  } catch (error) {
    call.io.signal.throwIfAborted();
    // Without a running daemon, the rest is checked from here. A daemon that the operator names must respond.
    if (!isDaemonNamed(call) && isNobodyThere(error)) {
      return { checks: [{ ...about, ...skippedCheck('no daemon is running') }] };
    }
    const fix = 'check the address, the credentials, and the log of the daemon';
    return { checks: [{ ...about, ...finding(errorMessage(error), fix) }] };
  }
  const running = { call: daemon, status };
  const up = formatSpan(Math.max(0, Number(status['at']) - Number(status['startedAt'])));
  const result = `opsd ${String(status['version'])}, up ${up}`;
  if (status['healthy'] !== true) {
    const unhealthy = finding(String(status['healthDetail']), 'read its log, and restart it');
    return { running, checks: [{ ...about, ...unhealthy }] };
  }
  if (config !== undefined && status['configHash'] !== undefined && status['configHash'] !== config.hash) {
    const said = `${result}, with another configuration than ${config.sourceFile}`;
    return { running, checks: [{ ...about, ...finding(said, `\`${daemon.command('reload')}\``) }] };
  }
  return { running, checks: [{ ...about, ...ok(result) }, ...checkSpans(status)] };
}

/** Reports the condition of a receiver of spans that does not accept them. */
function checkSpans({ conditions }: Running['status']): readonly Check[] {
  const all = Array.isArray(conditions) ? (conditions as { readonly key?: unknown; readonly detail?: unknown }[]) : [];
  const failing = all.find(({ key }) => key === 'spans');
  if (failing === undefined) return [];
  const fix = 'correct telemetry.traces.otlp.url or OTEL_EXPORTER_OTLP_ENDPOINT, or repair the receiver';
  return [{ check: 'spans', ...finding(String(failing.detail), fix) }];
}

function isDaemonNamed({ values }: Pick<Call, 'values'>): boolean {
  return ['url', 'socket'].some((name) => textOption(values, name) !== undefined);
}

async function daemonOf(call: Call, config: Config | undefined): Promise<DaemonCall | undefined> {
  const isNamed = isDaemonNamed(call);
  if (isNamed && textOption(call.values, 'config') !== undefined) {
    throw new UsageError('--config and the address of a daemon name two daemons; remove one of them');
  }
  if (isNamed) return findDaemon(call);
  if (config === undefined) return undefined;
  return { socketPath: socketPathOf(config.localPath), signal: call.io.signal, command: commandOf(call) };
}
