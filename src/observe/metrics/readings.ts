/** Readings of parts of the daemon that keep their own state: each scrape takes them over. */
import type { Families } from './families.ts';

export interface Readings {
  /** What was written to the audit log so far, and what could not be. */
  audit?(): { readonly records: number; readonly failures: number };
  /** Epoch milliseconds of the last commit of counters; undefined before the first. */
  savedAt?(): number | undefined;
  /** Log lines written so far, by level. */
  logLines?(): ReadonlyMap<string, number>;
  /** What the listeners with TLS show. */
  certificates?(): readonly { readonly listener: string; /** Epoch milliseconds. */ readonly notAfter: number }[];
  /** How the last loading of the configuration went; undefined where it is never loaded again. */
  reload?(): { readonly ok: boolean; /** Epoch milliseconds of the last good one. */ readonly goodAt: number };
}

/** Returns what takes the readings over, each by itself: one that fails keeps no other away. */
export function createReadings(families: Families, readings: Readings) {
  const lines = new Map<string, number>();
  let audited = { records: 0, failures: 0 };

  return {
    takeLogLines(): void {
      for (const [level, total] of readings.logLines?.() ?? []) {
        families.add('opsd_log_messages_total', { level }, Math.max(0, total - (lines.get(level) ?? 0)));
        lines.set(level, total);
      }
    },
    takeAudit(): void {
      const { records, failures } = readings.audit?.() ?? audited;
      families.add('opsd_audit_records_total', {}, records - audited.records);
      families.add('opsd_audit_write_errors_total', {}, failures - audited.failures);
      audited = { records, failures };
    },
    takeReload(): void {
      const last = readings.reload?.();
      if (last === undefined) return;
      families.set('opsd_config_last_reload_successful', {}, last.ok ? 1 : 0);
      families.set('opsd_config_last_reload_success_timestamp_seconds', {}, last.goodAt / 1_000);
    },
    takeCertificates(): void {
      for (const { listener, notAfter } of readings.certificates?.() ?? []) {
        families.set('opsd_tls_certificate_not_after_timestamp_seconds', { listener }, notAfter / 1_000);
      }
    },
    takeSavedAt(): void {
      const at = readings.savedAt?.();
      if (at !== undefined) families.set('opsd_state_last_save_timestamp_seconds', {}, at / 1_000);
    },
  };
}
