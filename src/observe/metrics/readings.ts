/** Readings of daemon parts that keep their own state. Each scrape copies them. */
import { CANARY_OUTCOMES, type CanaryState } from '#foundation/domain/canary.ts';
import { INCIDENT_STATES, type IncidentState } from '#foundation/domain/incident.ts';
import type { Families } from './families.ts';
import { seconds } from './values.ts';

export interface Readings {
  /** Returns the number of audit log records written, and of failed writes. */
  audit?(): { readonly records: number; readonly failures: number };
  /** Returns the epoch milliseconds of the last commit of counters; undefined before the first. */
  savedAt?(): number | undefined;
  /** Returns the number of log lines written, by level. */
  logLines?(): ReadonlyMap<string, number>;
  /** Returns the certificates of listeners with TLS. */
  certificates?(): readonly { readonly listener: string; /** Epoch milliseconds. */ readonly notAfter: number }[];
  /** Returns the states of all canaries. */
  canaries?(): readonly Pick<CanaryState, 'account' | 'canary' | 'verdict' | 'lastSuccessAt'>[];
  /** Returns the number of incidents, by account and state. */
  incidents?(): ReadonlyMap<string, Readonly<Record<IncidentState, number>>>;
  /** Returns the result of the last load of the configuration; undefined if it is never reloaded. */
  reload?(): { readonly ok: boolean; /** Epoch milliseconds of the last success. */ readonly goodAt: number };
}

/** Returns functions that copy the readings. Each is separate, so that a failing one does not affect the others. */
export function createReadings(families: Families, readings: Readings) {
  const lines = new Map<string, number>();
  /** Canaries whose counters exist. */
  const counted = new Set<string>();
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
    takeCanaries(): void {
      const states = readings.canaries?.();
      if (states === undefined) return;
      const { put, samples } = families.collect('process');
      for (const { account, canary, verdict, lastSuccessAt } of states) {
        put('msgsvc_canary_verdict_info', { account, canary, verdict }, 1);
        put('msgsvc_canary_last_success_timestamp_seconds', { account, canary }, seconds(lastSuccessAt));
        const key = `${account}\0${canary}`;
        if (counted.has(key)) continue;
        counted.add(key);
        for (const outcome of CANARY_OUTCOMES) {
          families.add('msgsvc_canary_messages_total', { account, canary, outcome }, 0);
        }
      }
      families.exchange(['msgsvc_canary_verdict_info', 'msgsvc_canary_last_success_timestamp_seconds'], samples);
    },
    takeIncidents(): void {
      for (const [account, counts] of readings.incidents?.() ?? []) {
        for (const state of INCIDENT_STATES) families.set('opsd_incidents', { account, state }, counts[state]);
      }
    },
    takeSavedAt(): void {
      const at = readings.savedAt?.();
      if (at !== undefined) families.set('opsd_state_last_save_timestamp_seconds', {}, at / 1_000);
    },
  };
}
