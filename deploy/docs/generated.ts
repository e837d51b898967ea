/** Generated parts of the documentation, by the names of their markers. Each follows from the place that declares it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CONFIRM_OPTION, REASON_OPTION, YES_OPTION } from '#cli/confirm.ts';
import type { OptionSpec } from '#cli/command.ts';
import { HELP_GROUPS } from '#cli/help.ts';
import { ACCOUNT_OPTION, LIST_OPTIONS, SINCE_OPTION, UNTIL_OPTION } from '#cli/list-options.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import type { Guard } from '#automate/guardrails/guard.ts';
import { SWITCH_VALUES } from '#emulator/state/switches.ts';
import { GROUPS } from '#operate/contract/index.ts';
import { methodOf, pathOf, type ContractRoute } from '#operate/contract/route.ts';
import { ERROR_CODES } from '#operate/http/reply.ts';
import { AUDIT_KINDS } from '#operate/show/audit.ts';
import { alertName } from '#operate/notifications/alertmanager.ts';
import { catalogMarkdown } from '#observe/catalog/text.ts';
import { alertLists, burnTable, recordedSeries, table } from '../prometheus/document.ts';

const ROOT = join(import.meta.dirname, '../..');

export const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  commands,
  'common-options': () => options(COMMON_OPTIONS),
  guards,
  routes: () => GROUPS.map(routesOf).join('\n'),
  'error-codes': errorCodes,
  'audit-types': () => AUDIT_KINDS.map((kind) => `\`${kind}\``).join(', '),
  'exit-codes': exitCodes,
  'condition-kinds': conditionKinds,
  'canary-settings': () => settings(canarySettings()),
  'policy-keys': policyKeys,
  'policy-limits': policyLimits,
  'emulator-switches': switches,
  'library-options': () => membersOf('EmulatorOptions'),
  'library-members': libraryMembers,
  metrics: catalogMarkdown,
  alerts: alertLists,
  'burn-rates': burnTable,
  recorded: recordedSeries,
};

async function commands(): Promise<string> {
  const groups = Object.entries(HELP_GROUPS).map(async ([title, listed]) => {
    const loaded = await Promise.all(listed.map(({ load }) => load()));
    const lines = [...Map.groupBy(loaded, ({ summary }) => summary)].map(([summary, same]) => {
      const names = same.map(({ name, operands }) => `\`opsd ${[name, operands?.usage].filter(Boolean).join(' ')}\``);
      return `- ${names.join(', ')}: ${summary}\n`;
    });
    return `**${title}**\n\n${lines.join('')}`;
  });
  return (await Promise.all(groups)).join('\n');
}

/** Options that several commands have. */
const COMMON_OPTIONS = {
  ...LIST_OPTIONS,
  since: SINCE_OPTION,
  until: UNTIL_OPTION,
  account: ACCOUNT_OPTION,
  yes: YES_OPTION,
  confirm: CONFIRM_OPTION,
  reason: REASON_OPTION,
};

function options(specs: Readonly<Record<string, OptionSpec>>): string {
  return Object.entries(specs)
    .map(([name, { short, value, help }]) => {
      const synopsis = [`--${name}`, value].filter(Boolean).join(' ');
      return `- \`${synopsis}\`${short === undefined ? '' : `, \`-${short}\``}: ${help}\n`;
    })
    .join('');
}

/** When the guards of each stage run, and the effect of an objection. */
const STAGES: Readonly<Record<Guard['stage'], string>> = {
  run: 'Before anything is read, and all but `min_interval` again before every request: an objection holds the run',
  read: 'After the listing: an objection aborts the run, because the data cannot be trusted',
  evaluated: 'After the expression: an objection aborts the run',
  entry: 'For each entry: an objection denies it',
  account: 'Before the plan is made: an objection holds the run',
  matched: 'By the number of matched entries: an objection aborts the run, or requires an approval',
  group: 'For each group, before the plan is made: an objection holds the group',
  budget: 'For a raise: an objection holds the run, or requires an approval',
  plan: 'For the whole plan: the run is held if nothing fits, otherwise the rest is left',
  act: 'Before every request: it is not sent',
  answer: 'After every response',
  outcome: 'After the run',
};

/** The guards in their order, each with the comment of its function. */
function guards(): string {
  const sources = sourcesOf('src/automate/guardrails/*-guards.ts');
  return [...Map.groupBy(GUARDS, ({ stage }) => stage)]
    .map(([stage, found]) => {
      const lines = found.map(({ name, check }) => {
        const comment = commentOf(sources, `export function ${check.name}(`);
        return `- <a id="${name}"></a>**\`${name}\`**: ${comment.replace(' Remedy: ', ' *Remedy*: ')}\n`;
      });
      return `${STAGES[stage]}:\n\n${lines.join('')}`;
    })
    .join('\n');
}

function sourcesOf(pattern: string): string {
  return globSync(pattern, { cwd: ROOT })
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n');
}

/** Returns the text of the comment before a declaration. */
function commentOf(source: string, declaration: string): string {
  const before = source.slice(0, source.indexOf(`\n${declaration}`));
  return textOf(before.slice(before.lastIndexOf('/**') + 3, before.lastIndexOf('*/')));
}

function textOf(comment: string): string {
  return comment.replaceAll(/\s+(?:\* )?/g, ' ').trim();
}

function routesOf({ description, routes }: (typeof GROUPS)[number]): string {
  const lines = (routes as readonly ContractRoute[]).map((route) => {
    const { summary, role, query, body } = route;
    const fields = body === undefined ? Object.keys(query.shape) : fieldsOf(body);
    const about = [...(role === 'viewer' ? [] : [role]), ...(fields.length === 0 ? [] : [`\`${fields.join(' ')}\``])];
    const noted = about.length === 0 ? '' : ` (${about.join('; ')})`;
    return `- \`${methodOf(route)} ${pathOf(route)}\`${noted}: ${summary}\n`;
  });
  return `**${description.replace(/\.$/, '')}**\n\n${lines.join('')}`;
}

interface BodySchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly BodySchema[];
}

/** Names of the fields of a body, with a question mark if a field can be absent. Alternatives are joined by `|`. */
function fieldsOf(body: z.ZodType): readonly string[] {
  const { properties = {}, required = [], anyOf = [] } = z.toJSONSchema(body, { io: 'input' }) as BodySchema;
  const named = (schema: BodySchema): string[] =>
    Object.keys(schema.properties ?? {}).map((name) => (schema.required?.includes(name) ? name : `${name}?`));
  if (anyOf.length > 0) return [anyOf.map((one) => named(one).join(' ')).join(' | ')];
  return named({ properties, required });
}

function errorCodes(): string {
  return Object.entries(ERROR_CODES)
    .map(([code, [status, meaning]]) => `- \`${code}\` (${status}): ${meaning}\n`)
    .join('');
}

/** The exit codes, each with the comments of its names. */
function exitCodes(): string {
  const body = declared('src/cli/command.ts', 'export const EXIT = {');
  const found = [...body.matchAll(/\/\*\*(.*?)\*\/\n +\w+: (\d+)/gs)].map((match) => ({
    code: match[2]!,
    text: textOf(match[1]!),
  }));
  return [...Map.groupBy(found, ({ code }) => code)]
    .map(([code, same]) => `- **${code}**: ${same.map(({ text }) => text).join(' ')}\n`)
    .join('');
}

/** The kinds of conditions, each with the name of its alert and the comment of its member. */
function conditionKinds(): string {
  const body = declared('src/foundation/domain/notification.ts', 'type ConditionKind =');
  return [...body.matchAll(/\/\*\*(.*?)\*\/\n +\| '([\w-]+)'/gs)]
    .map(([, comment, kind]) => `- \`${kind}\` (\`${alertName(kind!)}\`): ${textOf(comment!)}\n`)
    .join('');
}

/** Returns the text from a declaration to the next empty line. */
function declared(file: string, declaration: string): string {
  return readFileSync(join(ROOT, file), 'utf8').split(`\n${declaration}\n`)[1]!.split('\n\n')[0]!;
}

interface SettingSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: string;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly items?: SettingSchema;
  readonly anyOf?: readonly SettingSchema[];
}

function configSchema(): SettingSchema {
  return JSON.parse(readFileSync(join(ROOT, 'config.schema.json'), 'utf8')) as SettingSchema;
}

/** Settings with their defaults and descriptions. */
function settings({ properties = {} }: SettingSchema): string {
  return Object.entries(properties)
    .map(([name, { default: value, description }]) => {
      const noted = ['string', 'number'].includes(typeof value) ? ` (\`${String(value)}\`)` : '';
      return `- \`${name}\`${noted}: ${description}\n`;
    })
    .join('');
}

function canarySettings(): SettingSchema {
  return configSchema().properties!['accounts']!.items!.properties!['canaries']!.items!;
}

/** The keys of policies, as those of the first action where actions differ. */
function policyKeys(): string {
  const actions = configSchema().properties!['policies']!.items!.anyOf!.map(({ properties }) => properties!);
  const keys = Object.assign({}, ...actions.toReversed()) as Readonly<Record<string, SettingSchema>>;
  return settings({ properties: keys });
}

/** Defaults of the limits by action. Actions with equal limits share a column. */
function policyLimits(): string {
  const actions = configSchema().properties!['policies']!.items!.anyOf!.map(({ properties }) => ({
    type: properties!['action']!.properties!['type']!.const!,
    limits: new Map(defaultsIn(properties!['limits']!)),
  }));
  const columns = [...Map.groupBy(actions, ({ limits }) => JSON.stringify([...limits])).values()];
  const names = new Set(actions.flatMap(({ limits }) => [...limits.keys()]));
  return table(
    ['limit', ...columns.map((same) => same.map(({ type }) => `\`${type}\``).join(', '))],
    [...names].map((name) => [`\`${name}\``, ...columns.map(([one]) => one!.limits.get(name) ?? '–')]),
  );
}

function defaultsIn({ properties = {} }: SettingSchema, path = ''): (readonly [string, string])[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (schema.properties !== undefined) return defaultsIn(schema, `${path}${name}.`);
    const { default: value = 'none' } = schema;
    return [[`${path}${name}`, Array.isArray(value) ? value.join(', ') : String(value)] as const];
  });
}

function switches(): string {
  return Object.entries(SWITCH_VALUES)
    .map(([name, values]) => `- \`${name}\`: ${values.join(', ')}\n`)
    .join('');
}

/** Members of the library's emulator, with those of its parts. */
function libraryMembers(): string {
  const parts = { clock: 'EmulatorClock', faults: 'EmulatorFaults<Rule>', destinations: 'EmulatorDestinations' };
  const inner = Object.entries(parts).map(([name, type]) => membersOf(type, `${name}.`));
  return [membersOf('Emulator extends AsyncDisposable'), ...inner].join('');
}

/** Returns the members of an interface of the library's types that have a comment, each with its first paragraph. */
function membersOf(type: string, prefix = ''): string {
  const source = readFileSync(join(ROOT, 'emulator/src/types/public.ts'), 'utf8');
  const body = source.split(`\nexport interface ${type} {\n`)[1]!.split('\n}')[0]!;
  const members = [...body.matchAll(/\/\*\*(.*?)\*\/\n {2}(?:readonly )?(\w+)(\(.*?\))?/gs)];
  return members
    .map(([, comment, name, parameters = '']) => {
      const [first] = comment!.split(/\n +\*\n/);
      const text = textOf(first!);
      const names = parameters.replaceAll(/(\w+)(\??): (?:[^,()]|\([^)]*\))+/g, '$1$2');
      return `- \`${prefix}${name}${names}\`: ${text}\n`;
    })
    .join('');
}
