/**
 * Differences on the wire between installations. They are the names that contain the brand (headers, management paths,
 * fields and plans named after the product), the unit of bandwidths, and the largest plausible point. No other part of the
 * client knows them.
 */
import { LARGEST } from '#foundation/domain/statistics.ts';
import type { BANDWIDTH_UNITS, WireSettings } from './settings.ts';

export interface WireNames {
  /** Returns the name of a header: `Retries` → `Svc-Retries`. */
  header(name: string): string;
  /** Returns a management path: `stats` → `/v2/msgsvc/stats`. */
  managementPath(action: string): string;
  /** Name of the account field in bodies: `msgsvc_id`. */
  readonly accountIdField: string;
  /** Series of message counts in the account statistics: `daily_msgsvc_messages`. */
  readonly dailyMessagesField: string;
  /** Field of a search index that names a partner: `integration_email`. */
  readonly integrationEmailField: string;
  /** Factor for bandwidths without a defined unit. */
  readonly bytesOfBandwidth: number;
  /** Maximum number of messages in a point of the account statistics. */
  readonly largestPoint: number;
  /** Values that set-plan accepts. */
  readonly plans: readonly string[];
  /** Lower-case names of forwarded and own headers as they may appear in entries. */
  readonly stored: {
    readonly forwardPrefix: string;
    readonly flowControlKey: string;
    readonly workflowRunId: string;
    readonly delay: string;
    readonly notBefore: string;
  };
}

const BYTES: Readonly<Record<(typeof BANDWIDTH_UNITS)[number], number>> = {
  B: 1,
  kB: 1e3,
  KiB: 1_024,
  MB: 1e6,
  MiB: 1_024 ** 2,
  GB: 1e9,
  GiB: 1_024 ** 3,
};

/** Factor from requests to messages. A request may have many endpoints, and each of its deliveries retries and callbacks. */
const MESSAGES_OF_REQUEST = 1_000;

/** @param requestsPerDay limit of the account, if it is known */
export function wireNames(settings: WireSettings, requestsPerDay = Infinity): WireNames {
  const { headerPrefix, product } = settings;
  const header = (name: string): string => `${headerPrefix}-${name}`;
  return {
    header,
    managementPath: (action) => `/v2/${product}/${action}`,
    accountIdField: `${product}_id`,
    dailyMessagesField: `daily_${product}_messages`,
    integrationEmailField: settings.integrationEmailField,
    bytesOfBandwidth: BYTES[settings.bandwidthUnit],
    largestPoint: Math.min(LARGEST.count, requestsPerDay * MESSAGES_OF_REQUEST),
    plans: ['paid', ...['1m', '10m', '100m'].map((size) => `${product}_fixed_${size}`)],
    stored: {
      forwardPrefix: header('Forward-').toLowerCase(),
      flowControlKey: header('Flow-Control-Key').toLowerCase(),
      workflowRunId: header('Workflow-RunId').toLowerCase(),
      delay: header('Delay').toLowerCase(),
      notBefore: header('Not-Before').toLowerCase(),
    },
  };
}
