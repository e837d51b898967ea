/**
 * Times until the delivery alerts fire and resolve: promtool plays the scenarios through the rules. The result is two tables
 * in docs/alerts.md, which a test compares and `npm run rules:times` writes.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { DOCUMENT, marked, table } from './document.ts';
import { RECORDING_GROUPS } from './groups.ts';
import { CORE_FILE, EXTENDED_FILE, extendedName, RECORDING_FILE, renderRules } from './render.ts';
import { SCENARIOS, SLOW_SCENARIOS, type Phase, type Scenario } from './response-scenarios.ts';
import type { AlertingRule, RecordingGroup } from './rule.ts';
import { deliveryAlerts } from './rules/deliveries.ts';

/** Parameters of a playback; all times are minutes. */
export interface Playback {
  readonly scenarios: readonly Scenario[];
  /** Time from one sample and evaluation to the next. */
  readonly step: number;
  /** Duration of healthy traffic at an old destination before its failure. */
  readonly before: number;
  /** Duration after the start of the failure. */
  readonly played: number;
  readonly alerts: (rule: AlertingRule) => boolean;
}

const overDays = ({ alert, severity }: AlertingRule): boolean => alert.endsWith('BudgetBurn') && severity === 'warning';

/** An account burns as its destination does. */
const ofDestination = ({ alert }: AlertingRule): boolean => alert !== 'MsgsvcDeliveryBudgetBurn';

export const FAST: Playback = {
  scenarios: SCENARIOS,
  step: 1,
  before: 360,
  played: 225,
  alerts: (rule) => ofDestination(rule) && !overDays(rule),
};
const SLOW: Playback = {
  scenarios: SLOW_SCENARIOS,
  step: 10,
  before: 4_320,
  played: 4_320,
  alerts: (rule) => ofDestination(rule) && overDays(rule),
};

/** When an alert fired first and last, in minutes after the start of the failure. */
export interface Response {
  readonly alert: string;
  readonly severity: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Some scenarios reach the limits of an alert exactly, where otherwise the rounding of promtool, which varies, determines
 * the time. With these factors, exactly as many failures as required are enough, and a ratio at its limit is not above it.
 */
const FAILURES = 1 + 1e-9;
const ALL = 1 + 2e-9;

const COUNTERS = {
  msgsvc_messages_finished_total: () => ALL,
  msgsvc_message_failures_total: ({ messages = 0 }: Phase) => messages * FAILURES,
  msgsvc_message_cancellations_total: () => 0,
  msgsvc_message_attempts_total: () => ALL,
  msgsvc_message_attempt_failures_total: ({ attempts }: Phase) => attempts * FAILURES,
} as const;

const FIRED = 'playback:fired:minutes';

/** Responses to each scenario. @throws when promtool does not run the playback */
export function responsesTo(playback: Playback, promtool = 'promtool'): readonly (readonly Response[])[] {
  const folder = mkdtempSync(join(tmpdir(), 'opsd-playback-'));
  try {
    for (const [name, text] of Object.entries(filesOf(playback))) writeFileSync(join(folder, name), text);
    const ran = spawnSync(promtool, ['test', 'rules', join(folder, 'test.yaml')], { encoding: 'utf8' });
    if (ran.error !== undefined) throw ran.error;
    return firedIn(ran.stdout + ran.stderr, playback);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function filesOf(playback: Playback): Readonly<Record<string, string>> {
  const alerts = { ...deliveryAlerts, rules: deliveryAlerts.rules.filter(playback.alerts) };
  const recording = recordedFor(alerts.rules);
  const fired = { name: 'fired', rules: [{ record: FIRED, expr: 'time() / 60 * ALERTS{alertstate="firing"}' }] };
  const rendered = renderRules({ recording: [...recording, fired], alerts: [alerts] });
  const last = `${playback.before + playback.played}m`;
  const query = (of: string) => ({ expr: `${of}_over_time(${FIRED}[${last}])`, eval_time: last });
  const test = {
    rule_files: ['recording.yaml', 'core.yaml', 'extended.yaml'],
    evaluation_interval: `${playback.step}m`,
    group_eval_order: [...recording.map(({ name }) => name), alerts.name, extendedName(alerts.name), fired.name],
    // Nothing is expected, so that promtool prints everything that fired.
    tests: [
      {
        interval: `${playback.step}m`,
        input_series: playback.scenarios.flatMap((scenario, index) =>
          Object.entries(COUNTERS).map(([metric, share]) => ({
            series: `${metric}{account="s${index}", destination="d"}`,
            values: valuesOf(scenario, share, playback),
          })),
        ),
        promql_expr_test: [query('min'), query('max')],
      },
    ],
  };
  return {
    'recording.yaml': rendered[RECORDING_FILE]!,
    'core.yaml': rendered[CORE_FILE]!,
    'extended.yaml': rendered[EXTENDED_FILE]!,
    'test.yaml': stringify(test, { lineWidth: 0 }),
  };
}

/** Recording rules that the alerts read, without intervals of their own. */
function recordedFor(alerts: readonly AlertingRule[]): RecordingGroup[] {
  const text = alerts.map(({ expr }) => expr).join(' ');
  return RECORDING_GROUPS.map(({ name, rules }) => ({
    name,
    rules: rules.filter(({ record }) => new RegExp(String.raw`${record}\b`).test(text)),
  })).filter(({ rules }) => rules.length > 0);
}

/** Samples of one counter in promtool's notation. */
function valuesOf({ destination, perMinute, phases }: Scenario, share: (phase: Phase) => number, played: Playback) {
  const { step, before } = played;
  const old = destination === 'old';
  const parts = old ? [] : [`_x${before / step}`];
  let value = 0;
  let left = played.played + (old ? before : 0);
  parts.push('0');
  const healthy = (minutes: number): Phase => ({ minutes, attempts: 0 });
  for (const phase of [healthy(old ? before : 0), ...phases, healthy(left)]) {
    const samples = Math.min(phase.minutes, left) / step;
    if (samples <= 0) continue;
    const added = perMinute * step * share(phase);
    if (phase.reset === true) value = 0;
    parts.push(phase.away === true ? `_x${samples}` : `${value + added}+${added}x${samples - 1}`);
    value += added * samples;
    left -= samples * step;
  }
  return parts.join(' ');
}

export const RESPONSES = {
  responses: FAST,
  'slow-responses': SLOW,
} as const;

/** The table of a playback in docs/alerts.md: a row for each failure that fires an alert somewhere. */
export function responseTable({ scenarios, step }: Playback, responses: readonly (readonly Response[])[]): string {
  const placeOf = ({ destination, perMinute }: Scenario): string => `${destination}, ${perMinute}/min`;
  const all = scenarios.map((scenario, index) => ({ scenario, found: responses[index]! }));
  const fired = [...Map.groupBy(all, ({ scenario }) => scenario.failure)].filter(([, played]) =>
    played.some(({ found }) => found.length > 0),
  );
  const places = [...new Set(fired.flatMap(([, played]) => played.map(({ scenario }) => placeOf(scenario))))];
  const rows = fired.map(([failure, played]) => [
    failure,
    ...places.map((place) => {
      const here = played.find(({ scenario }) => placeOf(scenario) === place);
      return here === undefined ? '' : cell(here.scenario, here.found, step);
    }),
  ]);
  return table(['failure', ...places], rows);
}

function cell({ phases }: Scenario, found: readonly Response[], step: number): string {
  if (found.length === 0) return '–';
  const alerts = found.map(({ alert, severity, from }) => {
    const text = `${alert.replace('MsgsvcDestination', '')} ${duration(from)}`;
    return severity === 'critical' ? `**${text}**` : text;
  });
  const end = phases.reduce((sum, { minutes }) => sum + minutes, 0);
  if (end === Number.POSITIVE_INFINITY) return alerts.join(', ');
  const resolved = Math.max(...found.map(({ to }) => to + step - end));
  return `${alerts.join(', ')}; resolved ${duration(resolved)} after its end`;
}

function duration(minutes: number): string {
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24, minutes % 60];
  return [days > 0 && `${days} d`, hours > 0 && `${hours} h`, rest > 0 && `${rest} min`].filter(Boolean).join(' ');
}

function firedIn(output: string, { scenarios, before }: Playback): readonly (readonly Response[])[] {
  const times = new Map<string, number[]>();
  for (const [, labels, minutes] of output.matchAll(/\{([^{}]*alertname=[^{}]*)\} ([\d.e+]+)/gi)) {
    times.set(labels!, [...(times.get(labels!) ?? []), Number(minutes) - before]);
  }
  if (times.size === 0) throw new Error(`promtool shows no alert that fired: ${output.slice(0, 2_000)}`);
  const fired = [...times].map(([labels, found]) => {
    const label = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const response = { alert: label('alertname'), severity: label('severity') };
    return { account: label('account'), ...response, from: Math.min(...found), to: Math.max(...found) };
  });
  return scenarios.map((_scenario, index) =>
    fired
      .filter(({ account }) => account === `s${index}`)
      .map(({ account: _account, ...response }) => response)
      .toSorted((one, other) => one.from - other.from || one.alert.localeCompare(other.alert)),
  );
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '../..', DOCUMENT);
  let document = readFileSync(path, 'utf8');
  for (const [mark, playback] of Object.entries(RESPONSES)) {
    const measured = responseTable(playback, responsesTo(playback));
    document = document.replace(marked(mark), () => `\n${measured}\n`);
  }
  writeFileSync(path, document);
}
