/** Estimate of `opsd check`: series, calls and bytes a day, with warnings if they exceed limits. Pure. */
import { formatCount } from '#foundation/domain/counted.ts';
import type { Config } from '#config/config.ts';
import { canaryCosts, type CanaryCost } from '#config/canary-workload.ts';
import { overviewOf } from '#config/overview.ts';
import { ASSUMED, LOG_BYTES, workload, type Load, type Traffic } from '#config/workload.ts';
import { estimateSeries, TYPICAL, type SeriesEstimate } from '#observe/metrics/series-estimate.ts';
import { textTable } from '../output.ts';

export interface Estimate {
  readonly assumed: Traffic & typeof ASSUMED & typeof TYPICAL;
  readonly loads: readonly Load[];
  readonly apis: readonly {
    readonly account: string;
    readonly api: Load['api'];
    readonly callsPerDay: number;
    readonly requestsPerDay: number;
    readonly bytesPerDay: number;
  }[];
  readonly canaries: readonly CanaryCost[];
  readonly series: readonly SeriesEstimate[];
  readonly maxSeries: number;
  readonly warnings: readonly string[];
}

export function estimateOf(config: Config, traffic: Traffic): Estimate {
  const loads = workload(config, traffic);
  const byApi = Map.groupBy(loads, ({ account, api }) => `${account}\0${api}`);
  const apis = [...byApi.values()].map((ofApi) => ({
    account: ofApi[0]!.account,
    api: ofApi[0]!.api,
    callsPerDay: ofApi.reduce((sum, load) => sum + load.callsPerDay, 0),
    requestsPerDay: config.accounts.find(({ name }) => name === ofApi[0]!.account)!.client.requestsPerDay,
    bytesPerDay: ofApi.reduce((sum, load) => sum + load.bytesPerDay, 0),
  }));
  const running = overviewOf(config).collectors.filter(({ off }) => off === undefined);
  const accounts = config.accounts.map((account) => ({
    apis: new Set(loads.filter((load) => load.account === account.name).map(({ api }) => api)).size,
    collectors: running.filter((collector) => collector.account === account.name).map(({ collector }) => collector),
    flowControlKeys: account.flowControlKeys.length,
    discoveredKeys: account.collectors.flowControl.discover,
    searchIndexes: account.searchIndexes.length,
    vectorIndexes: account.vectorIndexes.length,
    policies: config.policies.filter(({ settings }) => settings.account === account.name).length,
    canaries: account.canaries.length,
    hasDimension: account.collectors.logs.dimension !== undefined,
  }));
  const series = estimateSeries(accounts, config.telemetry.metrics);
  const { maxSeries } = config.telemetry.metrics;
  const canaries = canaryCosts(config, LOG_BYTES);
  return {
    assumed: { ...traffic, ...ASSUMED, ...TYPICAL },
    loads,
    apis,
    canaries,
    series,
    maxSeries,
    warnings: [
      ...apis.flatMap(({ account, api, callsPerDay, requestsPerDay }) => {
        const more = api === 'message' ? callsWhileFailing(canaries, account) : 0;
        const allowed = `but its client.requestsPerDay allows ${number(requestsPerDay)}: raise it, or use longer intervals`;
        if (callsPerDay > requestsPerDay) {
          return `account ${account} needs about ${number(callsPerDay)} calls a day of the ${api} API, ${allowed}`;
        }
        if (callsPerDay + more <= requestsPerDay) return [];
        return `account ${account} needs about ${number(callsPerDay + more)} calls a day of the ${api} API while its canaries fail, ${allowed}`;
      }),
      ...(sum(series, 'typical') <= maxSeries
        ? []
        : [
            `about ${number(sum(series, 'typical'))} series, but telemetry.metrics.maxSeries allows ${number(maxSeries)}: raise it, or lower the max of labels`,
          ]),
    ],
  };
}

export function estimateText({ assumed, loads, apis, canaries, series, maxSeries }: Estimate): string {
  const traffic = `${number(assumed.messagesPerDay)} messages a day and ${number(assumed.failedRuns)} failed runs in each account`;
  return [
    `Estimated for ${traffic} (--messages, --failed-runs).\nNot counted: actions, retries, catching up.\n`,
    textTable(
      ['ACCOUNT', 'API', 'READ BY', 'CALLS A DAY', 'ALLOWED', 'BYTES A DAY'],
      apis.flatMap(({ account, api, callsPerDay, requestsPerDay, bytesPerDay }) => [
        ...loads
          .filter((load) => load.account === account && load.api === api)
          .map((load) => [account, api, load.reader, number(load.callsPerDay), '', bytes(load.bytesPerDay)]),
        [account, api, 'all', number(callsPerDay), number(requestsPerDay), bytes(bytesPerDay)],
      ]),
    ),
    ...(canaries.length === 0 ? [] : [canariesText(canaries)]),
    textTable(
      ['SERIES OF', 'TYPICALLY', 'AT MOST'],
      [
        ...series.map(({ heading, typical, atMost }) => [heading, number(typical), number(atMost)]),
        ['all', number(sum(series, 'typical')), number(sum(series, 'atMost'))],
        ['telemetry.metrics.maxSeries', '', number(maxSeries)],
      ],
    ),
    `Assumed for each account: ${assumed.entriesPerMessage} log entries a message, ${bytes(assumed.entryBytes)} each; ` +
      `${assumed.destinations} destinations, ${assumed.workflows} workflows, ${assumed.urlGroups} URL Groups; ` +
      'pages of 100, the last page of each read not full. The number of flow-control keys found in entries is\n' +
      'the maximum of collectors.flowControl.discover.\n',
  ].join('\n');
}

/** Calls a day that failing canaries of an account need in addition. */
function callsWhileFailing(canaries: readonly CanaryCost[], account: string): number {
  return canaries
    .filter((canary) => canary.account === account)
    .reduce((sum, { mostRequestsPerDay, requestsPerDay }) => sum + mostRequestsPerDay - requestsPerDay, 0);
}

function canariesText(canaries: readonly CanaryCost[]): string {
  return (
    textTable(
      ['CANARY', 'ACCOUNT', 'MESSAGES A DAY', 'REQUESTS A DAY', 'WHILE FAILING', 'BYTES A DAY'],
      canaries.map(({ canary, account, messagesPerDay, requestsPerDay, mostRequestsPerDay, bytesPerDay }) => [
        canary,
        account,
        number(messagesPerDay),
        number(requestsPerDay),
        number(mostRequestsPerDay),
        bytes(bytesPerDay),
      ]),
    ) + 'The callback about a message is a message, too.\n'
  );
}

function sum(series: readonly SeriesEstimate[], which: 'typical' | 'atMost'): number {
  return series.reduce((total, estimate) => total + estimate[which], 0);
}

function number(value: number): string {
  return formatCount(Math.round(value));
}

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  let left = value;
  while (left >= 1_000 && at < units.length - 1) {
    left /= 1_000;
    at += 1;
  }
  return `${left < 10 && at > 0 ? left.toFixed(1) : Math.round(left)} ${units[at]}`;
}
