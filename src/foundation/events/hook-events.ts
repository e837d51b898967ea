/** Events of the hooks: what Alertmanager and the callbacks of the service send. */

/** Why a hook rejected a request. */
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
      readonly hook: 'alertmanager' | 'callbacks' | 'other';
      /** Name of the receiver or account; absent when it is not configured. */
      readonly name?: string;
      /** HTTP status. */
      readonly code: number;
      /** Absent when the request was accepted. */
      readonly refused?: HookRefusal;
    }
  | {
      readonly type: 'alerts.received';
      /** Name of the hook. */
      readonly receiver: string;
      readonly firing: number;
      readonly resolved: number;
      /** Alerts that could not be parsed. */
      readonly dropped: number;
    }
  | {
      readonly type: 'callback.received';
      readonly account: string;
      readonly kind: 'callback' | 'failure_callback';
      /** Class of the status that the destination answered with: `2xx`, or `none` without an answer. */
      readonly codeClass: string;
    }
  /** An alert that triggers policies began to fire, and its account is not known. */
  | { readonly type: 'alert.unassigned'; readonly receiver: string; readonly name: string };
