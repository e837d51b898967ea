/**
 * The names on the wire that carry the brand of an installation: header names, management paths, and the fields and
 * plans named after the product. Nothing else in the client spells them.
 */
import type { WireSettings } from './settings.ts';

export interface WireNames {
  /** `Retries` → `Svc-Retries`. */
  header(name: string): string;
  /** `stats` → `/v2/msgsvc/stats`. */
  managementPath(action: string): string;
  /** Field that names the account in bodies: `msgsvc_id`. */
  readonly accountIdField: string;
  /** Series of message counts in the account statistics: `daily_msgsvc_messages`. */
  readonly dailyMessagesField: string;
  /** Values that set-plan takes. */
  readonly plans: readonly string[];
  /** Names of forwarded and own headers as they may come back in entries, in lower case. */
  readonly stored: {
    readonly forwardPrefix: string;
    readonly flowControlKey: string;
    readonly workflowRunId: string;
    readonly delay: string;
    readonly notBefore: string;
  };
}

export function wireNames(settings: WireSettings): WireNames {
  const { headerPrefix, product } = settings;
  const header = (name: string): string => `${headerPrefix}-${name}`;
  return {
    header,
    managementPath: (action) => `/v2/${product}/${action}`,
    accountIdField: `${product}_id`,
    dailyMessagesField: `daily_${product}_messages`,
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
