/** Events of the daemon's process: its schedules, configuration and store. */

export type DaemonEvent =
  | { readonly type: 'schedule.rearmed'; readonly name: string; readonly jumpMs: number }
  | {
      readonly type: 'config.reloaded';
      /** Who asked: `SIGHUP`, `the files changed`, or the name of a caller. */
      readonly by: string;
      readonly changed: boolean;
    }
  | {
      readonly type: 'config.reload_failed';
      readonly by: string;
      /** `opsd.yaml:4:5: accounts[0].tokne: unknown key`, one for each that is wrong. */
      readonly problems: readonly string[];
      /** Whether the policies run in audit until a good reload. */
      readonly auditOnly: boolean;
    }
  /** A web configuration file or its certificate has changed and is in use. */
  | { readonly type: 'web_config.changed'; readonly listener: string }
  | { readonly type: 'store.failed'; readonly operation: string; readonly message: string }
  | { readonly type: 'backup.failed'; readonly message: string };
