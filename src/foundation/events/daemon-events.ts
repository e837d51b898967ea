/** Events of the daemon's process: its schedules, configuration and store. */

export type DaemonEvent =
  | { readonly type: 'schedule.rearmed'; readonly name: string; readonly jumpMs: number }
  | {
      readonly type: 'config.reloaded';
      /** Cause of the reload: `SIGHUP`, `the files changed`, or the name of a caller. */
      readonly by: string;
      readonly changed: boolean;
    }
  | {
      readonly type: 'config.reload_failed';
      readonly by: string;
      /** Problems such as `opsd.yaml:4:5: accounts[0].tokne: unknown key`. */
      readonly problems: readonly string[];
      /** True if the policies run in audit mode until a successful reload. */
      readonly auditOnly: boolean;
    }
  /** A web configuration file or its certificate changed and was applied. */
  | { readonly type: 'web_config.changed'; readonly listener: string }
  | { readonly type: 'store.failed'; readonly operation: string; readonly message: string }
  | { readonly type: 'backup.failed'; readonly message: string }
  | {
      readonly type: 'lease.taken';
      readonly account: string;
      readonly epoch: number;
      /** `died`: the owner before stopped without a handover. */
      readonly before: 'none' | 'handed_over' | 'died';
    }
  | {
      readonly type: 'lease.ended';
      readonly account: string;
      /** `unreachable`: the lease expired while the database did not respond. */
      readonly reason: 'handover' | 'lost' | 'unreachable';
    };
