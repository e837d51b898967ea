/** Events of the hooks that Alertmanager and the service's callbacks call. */

/** Reasons why a hook rejected a request. */
export const HOOK_REFUSALS = [
  'method',
  'unauthorized',
  'signature',
  'replay',
  'malformed',
  'too_large',
  'busy',
  'failed',
] as const;
export type HookRefusal = (typeof HOOK_REFUSALS)[number];

export type HookEvent =
  | {
      readonly type: 'hook.answered';
      /** `other`: a hook that is not configured. */
      readonly hook: 'alertmanager' | 'callbacks' | 'canary' | 'other';
      /** Name of the receiver, account, or canary (`ACCOUNT/NAME`); absent if it is not configured. */
      readonly name?: string;
      /** HTTP status. */
      readonly code: number;
      /** Absent if the request was accepted. */
      readonly refused?: HookRefusal;
    }
  | {
      readonly type: 'alerts.received';
      /** Name of the hook. */
      readonly receiver: string;
      readonly firing: number;
      readonly resolved: number;
      /** Number of invalid alerts. */
      readonly dropped: number;
    }
  | {
      readonly type: 'callback.received';
      readonly account: string;
      readonly kind: 'callback' | 'failure_callback';
      /** Class of the destination's response status: `2xx`, or `none` if there was no response. */
      readonly codeClass: string;
    }
  /** An alert that triggers policies began to fire, and its account is unknown. */
  | { readonly type: 'alert.unassigned'; readonly receiver: string; readonly name: string };
