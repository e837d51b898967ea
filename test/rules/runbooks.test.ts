/** Commands with their options, requests, dashboards, metrics and settings in runbooks exist. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboards } from '../../dashboards/index.ts';
import { ALERT_GROUPS, RECORDING_GROUPS } from '../../deploy/prometheus/groups.ts';
import { optionsOf, parseArguments } from '#cli/arguments.ts';
import { namedCommand } from '#cli/help.ts';
import { allKeys } from '#config/schema-walk.ts';
import { configSettings } from '#config/settings.ts';
import { ACTION_TYPES } from '#foundation/domain/plan.ts';
import { METRIC_NAMES } from '#observe/catalog/catalog.ts';
import { policySettings } from '#automate/policies/settings.ts';
import { API_ROUTES } from '#operate/api/routes.ts';
import { shellWords } from '../cli/shell-words.ts';
import { readPromql } from '../support/promql.ts';
import { labelsOfRules } from '../support/rule-labels.ts';
import { labelsOfSeries } from '../support/series-labels.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/runbooks');

/** Returns the text in code, in lines or in blocks. */
function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(/```\w*\n(.*?)```/gs)].flatMap((match) => {
    const lines = match[1]!.split('\n').map((line) => line.trim());
    return lines.filter((line) => line !== '');
  });
  const prose = text.replaceAll(/```.*?```/gs, '');
  return [...blocks, ...[...prose.matchAll(/`([^`]+)`/g)].map((match) => match[1]!.replaceAll(/\s+/g, ' '))];
}

const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  trace: ['id', 'show'],
  state: ['backup', 'restore', 'adopt'],
  audit: ['verify'],
};

/** Returns the problem of code that begins with `opsd `. */
async function wrongCommand(code: string): Promise<string | undefined> {
  const named = await namedCommand(shellWords(code).slice(1)).catch(() => undefined);
  if (named?.command === undefined) return `no command: ${code}`;
  const flags = named.args.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0]!);
  const options = Object.entries(optionsOf(named.command)).flatMap(([long, { short }]) => [`--${long}`, `-${short}`]);
  const unknown = flags.filter((flag) => !options.includes(flag));
  if (unknown.length > 0) return `no option ${unknown.join()}: ${code}`;
  const subcommands = SUBCOMMANDS[named.command.name];
  const [first] = named.args;
  if (subcommands === undefined || first === undefined || first.startsWith('-')) return undefined;
  return subcommands.includes(first) ? undefined : `no such subcommand: ${code}`;
}

const { paths } = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as {
  paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};
const REQUESTS = [
  ...Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  ),
  ...API_ROUTES.map(({ method, path }) => `${method} ${path}`),
  ...['/', '/metrics', '/-/healthy', '/-/ready'].map((path) => `GET ${path}`),
];

function wrongRequest(code: string): string | undefined {
  const [request] = code.split('?');
  const shape = (text: string): string => text.replaceAll(/\{\w+\}|(?<=\/)[A-Z]+(?=\/|$)/g, '*');
  return REQUESTS.some((one) => shape(one) === shape(request!)) ? undefined : `no such request: ${code}`;
}

const SETTINGS = [configSettings, policySettings].flatMap((settings) => [...allKeys(settings)].map(({ path }) => path));

/** Returns true if a dotted name is the end of a setting's path. `*` and capitals match any name. */
function isSetting(name: string): boolean {
  const pattern = name
    .split('.')
    .map((part) => (part === '*' || /^[A-Z]+$/.test(part) ? String.raw`[^.]+` : part))
    .join(String.raw`(?:\[\])?\.`);
  return SETTINGS.some((path) => new RegExp(String.raw`(?:^|\.)${pattern}(?:\[\])?$`).test(path));
}

const SECTIONS =
  /^(?:accounts|budget|client|collectors|engine|hooks|limits|log|messageApi|managementApi|notifications|ramp|select|server|storage|telemetry|wire)\.[\w.*]+$/;

const UIDS = dashboards.map(({ uid }) => uid);
const RECORDED = RECORDING_GROUPS.flatMap(({ rules }) => rules.map(({ record }) => record));
const ALERTS = ALERT_GROUPS.flatMap(({ rules }) => rules.map(({ alert }) => alert));

async function problemsOf(text: string): Promise<string[]> {
  const pieces = codeOf(text);
  const metrics = text.match(/\b(?:opsd|msgsvc)_[a-z0-9_]+/g) ?? [];
  const parts = ['_bucket', '_sum', '_count'].flatMap((part) => METRIC_NAMES.map((name) => `${name}${part}`));
  return [
    ...(await Promise.all(pieces.filter((code) => code.startsWith('opsd ')).map(wrongCommand))),
    ...pieces.filter((code) => /^(?:GET|POST|PUT|PATCH|DELETE) /.test(code)).map(wrongRequest),
    ...pieces
      .filter((code) => /^opsd-[a-z-]+$/.test(code))
      .map((uid) => (UIDS.includes(uid) ? undefined : `no dashboard: ${uid}`)),
    ...pieces
      .filter((code) => SECTIONS.test(code) && !(ACTION_TYPES as readonly string[]).includes(code))
      .map((name) => (isSetting(name) ? undefined : `no setting: ${name}`)),
    ...pieces
      .filter((code) => /^(?:Msgsvc|Opsd)[A-Z]\w+$/.test(code))
      .map((alert) => (ALERTS.includes(alert) ? undefined : `no alert: ${alert}`)),
    ...metrics.map((name) => {
      const exists = [...METRIC_NAMES, ...parts, ...RECORDED].includes(name);
      return exists ? undefined : `no metric: ${name}`;
    }),
    ...pieces
      .filter((code) => /\b(?:opsd|msgsvc)_\w+/.test(code) && /[({]/.test(code))
      .flatMap((code) => readPromql(code, labelsOfSeries).problems),
  ].filter((problem) => problem !== undefined);
}

/** Commands that read, from a running daemon. A first step changes nothing, and writes no file on a volume that fails. */
const READING = [
  'status',
  'incidents',
  'plan',
  'audit',
  'doctor',
  'dlq list',
  'messages list',
  'account stats',
  'indexes stats',
  'flow-control list',
];
/** Alerts whose daemon may not run: nothing can be asked of it. */
const WITHOUT_DAEMON = ['OpsdDown', 'OpsdAbsent', 'OpsdRestarting'];

function diagnosisOf(text: string): string {
  return text.split('## Diagnosis\n')[1]!.split('\n## ')[0]!;
}

/** Returns the problems of the first step: one read by `opsd`, one query, or commands for a daemon that is down. */
async function problemsOfFirst(name: string, text: string): Promise<string[]> {
  const [intro, block] = diagnosisOf(text).split(/```\n/);
  const lines = (block ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0 || intro!.trim().split('\n').length > 1) return ['no first step'];
  if (WITHOUT_DAEMON.includes(name)) {
    return lines.filter(
      (line) => !/^(?:kubectl -n opsd (?:describe|logs) |journalctl |docker compose logs )/.test(line),
    );
  }
  const [line] = lines;
  if (lines.length > 1) return ['more than one first command'];
  if (line!.startsWith('curl ')) return name === 'OpsdHeartbeat' ? [] : ['no command or query'];
  const rules = ALERT_GROUPS.flatMap((group) => group.rules).filter(({ alert }) => alert === name);
  const known = rules.flatMap(({ expr }) => [...readPromql(expr, labelsOfRules).labels]);
  const placeholders = line!.match(/\b[A-Z]{4,}\b(?!_)/g)?.filter((word) => !STATES.includes(word)) ?? [];
  const unknown = placeholders.filter((word) => !known.includes(word.toLowerCase())).map((word) => `unknown: ${word}`);
  // A query over all series names none.
  if (line!.includes('__name__')) return unknown;
  if (!line!.startsWith('opsd ')) return [...unknown, ...readPromql(line!, labelsOfSeries).problems];
  const { command, args } = await namedCommand(shellWords(line!).slice(1));
  parseArguments(command!, args);
  return READING.includes(command!.name) ? unknown : [`${command!.name} may change something`];
}

/** Values of the service that are no placeholders. */
const STATES = ['ERROR', 'CALLBACK_FAIL'];

describe.each(readdirSync(FOLDER))('%s', (file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');

  test('names existing items', async () => {
    expect(await problemsOf(text)).toEqual([]);
  });

  test('begins with a step that runs as it stands, with the labels of the alert', async () => {
    expect(await problemsOfFirst(file.replace('.md', ''), text)).toEqual([]);
  });

  test('lists messages or runs before it shows one', () => {
    const diagnosis = diagnosisOf(text);
    const single = /opsd (?:trace show|messages show|explain|dlq show|incidents show) [A-Z]+/.exec(diagnosis);
    const listed = /opsd (?:messages list|incidents|dlq list|audit|plan)\b|on the page|The list has/.exec(diagnosis);
    expect(single === null || (listed !== null && listed.index < single.index)).toBe(true);
  });

  test('links to existing files', () => {
    for (const [, target] of text.matchAll(/\]\(([^)#:]+)/g)) {
      expect(() => readFileSync(join(FOLDER, target!)), target).not.toThrow();
    }
  });
});

test.each([
  ['a command', '`opsd resume`'],
  ['an option', '```\nopsd plan POLICY --force\n```'],
  ['a subcommand', '`opsd trace follow MESSAGE`'],
  ['a request of the service', '`GET /v2/queues`'],
  ['a method of a request', '`PUT /v2/dlq`'],
  ['a request of the daemon', '`GET /api/v1/queues`'],
  ['a dashboard', '`opsd-queues`'],
  ['a setting', '`client.requestsPerHour`'],
  ['an alert', '`MsgsvcQueueFull`'],
  ['a metric', 'msgsvc_queue_messages'],
  ['a label', '`rate(msgsvc_message_attempts_total{queue="x"}[5m])`'],
])('finds %s that does not exist', async (_what, text) => {
  expect(await problemsOf(text)).toHaveLength(1);
});

test.each([
  ['OpsdDown', 'kubectl exec deployment/opsd -- opsd status'],
  ['OpsdStoreFailing', 'opsd state backup /var/lib/opsd/now.db'],
  ['MsgsvcAttemptsSlow', 'opsd messages list --destination QUEUE'],
  ['MsgsvcAttemptsSlow', 'up > ('],
])('%s must not begin with %s', async (alert, command) => {
  expect(await problemsOfFirst(alert, `## Diagnosis\n\n\`\`\`\n${command}\n\`\`\`\n`)).toHaveLength(1);
});
