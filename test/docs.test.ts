/** Compares the documentation with the program. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DAEMON_OPTIONS } from '#cli/daemon-option.ts';
import { parseArguments } from '#cli/arguments.ts';
import { namedCommand } from '#cli/help.ts';
import { loadConfig, parseConfig } from '#config/load.ts';
import { allKeys } from '#config/schema-walk.ts';
import { CANARY_OUTCOMES, CANARY_PHASES, CANARY_VERDICTS } from '#foundation/domain/canary.ts';
import { ACTION_TYPES } from '#foundation/domain/plan.ts';
import { METRIC_NAMES, specOf } from '#observe/catalog/catalog.ts';
import { GUARDS } from '#automate/guardrails/index.ts';
import { policyTestSettings } from '#automate/policytest/settings.ts';
import { webhookMessage } from '#operate/notifications/webhook.ts';
import {
  ACCOUNT_BUDGET,
  DEAD_LETTER,
  FACT_FUNCTIONS,
  TRIGGER_FIELDS,
  WORKFLOW_ENTRY,
} from '#automate/policies/environments.ts';
import { policySettings } from '#automate/policies/settings.ts';
import { GENERATED } from '../deploy/docs/generated.ts';
import { MARKED, PAGES, rendered } from '../deploy/docs/render.ts';
import { RESPONSES } from '../deploy/prometheus/response-times.ts';
import { shellWords } from './cli/shell-words.ts';
import { opsd } from './cli/terminal.ts';
import { NOTIFICATION } from './operate/notifications/world.ts';
import { RECORDS } from '../emulator/test/interface-names.ts';
import { authority } from './support/certificates.ts';
import { tempDir } from './support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Returns the code blocks of one language, in order. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(/```(\w*)\n(.*?)```/gs)].filter((match) => match[1] === language).map((match) => match[2]!);
}

/** First cells of the tables' rows that are one piece of code. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| ((?:`[^`|]+`(?:, )?)+) \|/gm)].flatMap((match) =>
    match[1]!.replaceAll('`', '').split(', '),
  );
}

/** Lines of the code blocks that call `opsd`. */
function commandLines(text: string): string[] {
  return blocks(text, '').flatMap((block) => block.split('\n').filter((line) => line.startsWith('opsd ')));
}

const ACCOUNT = 'accounts: [{ name: production, url: "https://x.example", token: t }]\n';

function loadShown(text: string) {
  return parseConfig(text, { file: 'shown.yaml', baseDir: ROOT, env: {}, secrets: false });
}

async function expectAccepted(text: string): Promise<void> {
  for (const line of commandLines(text)) {
    const { command, args } = await namedCommand(shellWords(line).slice(1));
    expect(() => parseArguments(command!, args), line).not.toThrow();
  }
}

test('the documentation has at most 40 pages and 45,000 words beside the runbooks', () => {
  expect(PAGES.length).toBeLessThanOrEqual(40);
  const words = PAGES.map((page) => read(page).trim().split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(45_000);
});

test.each(PAGES)('%s begins with the question that it answers', (page) => {
  expect(read(page)).toMatch(QUESTION);
});

test.each(PAGES)('the generated parts of %s are as declared: npm run docs', async (page) => {
  expect(await rendered(read(page))).toBe(read(page));
});

test('each generated part is on one page', () => {
  const marked = PAGES.flatMap((page) => [...read(page).matchAll(MARKED)].map(([, name]) => name!));
  expect(marked.toSorted()).toEqual([...Object.keys(GENERATED), ...Object.keys(RESPONSES)].toSorted());
});

test('every metric that a document names exists', () => {
  for (const file of ['README.md', ...PAGES]) {
    const named =
      read(file).match(/\b(?:opsd|msgsvc)_[a-z_]+(?:_total|_seconds|_bytes|_info|_runs|_messages)\b/g) ?? [];
    expect(
      named.filter((name) => !METRIC_NAMES.includes(name as (typeof METRIC_NAMES)[number])),
      file,
    ).toEqual([]);
  }
});

test('a document says where it names a metric that is not in a default scrape', () => {
  for (const file of ['README.md', ...PAGES].filter((page) => page !== 'docs/metrics.md')) {
    for (const name of METRIC_NAMES.filter((one) => specOf(one).debug === true)) {
      const sentences = read(file).split(/(?<=\.)\s|\n\n/);
      const silent = sentences.filter((sentence) => sentence.includes(name) && !sentence.includes('metrics.debug'));
      expect(silent, `${file}: ${name}`).toEqual([]);
    }
  }
});

test('docs/policies-actions.md has a row for each action and each outcome of a request', () => {
  const cells = firstCells(read('docs/policies-actions.md'));
  expect(cells).toEqual([...ACTION_TYPES, 'accepted', 'rejected', 'unknown']);
});

test("every field of the service's records is in a metric, or has a line with the reason for its absence", () => {
  const why = read('docs/metrics.md').split('\n## Fields without a metric\n')[1]!;
  const named = (field: string): RegExp => new RegExp(`(?<![\\w])${field}(?![\\w])`);
  const sources = METRIC_NAMES.map((name) => specOf(name).source).join('; ');
  const silent = Object.entries(RECORDS)
    .filter(([record]) => record.startsWith('2.') && record !== '2.7.account')
    .flatMap(([record, fields]) => Object.keys(fields).map((field) => ({ record, field })))
    .filter(({ field }) => !named(field).test(sources) && !why.includes(`\`${field}\``));
  expect(silent).toEqual([]);
  expect(why).toContain('The account record, all of it');
});

describe('README.md', () => {
  const readme = read('README.md');

  test('fits on two screens, with one picture, and needs no glossary', () => {
    const lines = readme.trimEnd().split('\n');
    expect(lines.length).toBeLessThan(90);
    expect(readme).not.toContain('glossary.md');
    expect(lines.filter((line) => line.length > 125)).toEqual([]);
    expect(readme.match(/!\[/g)).toHaveLength(1);
  });

  test('shows the two commands', () => {
    for (const command of ['npm ci && npm start', 'npm ci && npm test']) {
      expect(blocks(readme, '').join('\n')).toMatch(new RegExp(`^${command} `, 'm'));
    }
  });

  test('shows command lines that the commands accept', async () => {
    expect(commandLines(readme).length).toBeGreaterThan(2);
    await expectAccepted(readme);
  });

  test('shows a configuration that loads', () => {
    expect(loadShown(blocks(readme, 'yaml')[0]!)).toMatchObject({ ok: true, warnings: [] });
  });

  test('names only scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map((match) => match[1]!);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  test('leads to the index of the documentation', () => {
    expect(readme).toContain('](docs/README.md)');
  });
});

describe('docs/README.md', () => {
  const index = read('docs/README.md');
  const sections = new Map(
    index
      .split('\n## ')
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
  );
  const entries = [...index.matchAll(/^- \[(.+)\]\(([\w./-]+)\): \S/gm)].map(([, title, target]) => ({
    title,
    page: target!.startsWith('../') ? target!.slice(3) : `docs/${target}`,
  }));

  test('begins with questions and symptoms, then has the four kinds of documentation', () => {
    const kinds = ['Tutorials', 'How-to guides', 'Reference', 'Explanation'];
    expect([...sections.keys()]).toEqual(['By question', 'By symptom', ...kinds]);
  });

  // The test of links requires that each anchor exists.
  test.each([
    [/data sent anywhere/, 'install.md#is-my-data-sent-anywhere'],
    [/upgrade, and downgrade/, 'install.md#upgrade-and-downgrade'],
    [/systemd/, 'install.md#with-systemd'],
    [/proxy or a private CA/, 'install.md#a-proxy-or-a-private-authority'],
    [/mute .* an \[?incident/, 'incidents.md#snooze-an-incident'],
    [/remove it, and what stays at the service/, 'install.md#remove-it'],
    [/second account/, 'accounts.md#add-an-account'],
    [/memory, disk/, 'install.md#what-it-needs'],
    [/threshold, also without Node/, 'monitoring.md#change-a-threshold'],
  ])('answers %s with one click', (question, target) => {
    const rows = sections
      .get('By question')!
      .split('\n')
      .filter((row) => question.test(row.split('? ')[0]!));
    expect(rows).toHaveLength(1);
    expect(rows[0]!).toContain(`](${target})`);
  });

  test('has every page once, by its title', () => {
    const pages = entries.filter(({ page }) => /^docs\/.*\.md$/.test(page));
    const others = PAGES.filter((page) => page !== 'docs/README.md');
    expect(pages.map(({ page }) => page).toSorted(), 'docs/README.md has one line for each page').toEqual(
      others.toSorted(),
    );
    for (const { page, title } of pages) expect(/^# (.*)$/m.exec(read(page))![1], page).toBe(title);
  });

  test('leads to tutorials and how-to guides that begin with the question that they answer', () => {
    const pages = ['Tutorials', 'How-to guides'].flatMap((kind) =>
      [...sections.get(kind)!.matchAll(/^- \[.+\]\(([\w./-]+\.md)\)/gm)].map(([, page]) => `docs/${page!}`),
    );
    expect(pages).toHaveLength(3 + 16);
    // Two hours of reading. Who adds a paragraph finds one that can go.
    const words = ['docs/README.md', ...pages].map((page) => read(page).trim().split(/\s+/).length);
    expect(words.reduce((sum, count) => sum + count)).toBeLessThan(18_100);
    expect(pages.filter((page) => !QUESTION.test(read(page)))).toEqual([]);
  });

  test('has the tutorials first, and the runbooks as one entry', () => {
    const tutorials = PAGES.filter((page) => page.startsWith('docs/tutorials/'));
    for (const page of tutorials) expect(sections.get('Tutorials')).toContain(`](${page.slice('docs/'.length)})`);
    expect(entries.filter(({ page }) => page.startsWith('docs/runbooks/'))).toHaveLength(1);
  });
});

describe('docs/commands.md', () => {
  const text = read('docs/commands.md');

  test('shows command lines that the commands accept', async () => {
    expect(commandLines(text).length).toBeGreaterThan(20);
    await expectAccepted(text);
  });
});

test('docs/policy-tests.md has every key of a test, and its example passes', async () => {
  const text = read('docs/policy-tests.md');
  const keys = [...allKeys(policyTestSettings)]
    .map(({ path }) => path)
    // The languages of policies and of the engine have pages of their own.
    .filter((path) => !/^policies\[\]|^tests\[\]\.engine\./.test(path));
  expect(keys.length).toBeGreaterThan(80);
  const silent = keys.map((path) => path.split('.').at(-1)!).filter((key) => !text.includes(`\`${key}\``));
  expect([...new Set(silent)]).toEqual([]);

  const [example] = blocks(text, 'yaml');
  const file = join(tempDir(), 'example_test.yaml');
  writeFileSync(file, example!.replace('resume-minimal.yaml', join(ROOT, 'policies/resume-minimal.yaml')));
  expect(await opsd(['test', file])).toMatchObject({ code: 0, stderr: '' });
});

describe('docs/policies.md', () => {
  const text = read('docs/policies.md');

  test('names every key of the language', () => {
    const words = new Set(text.match(/\w+/g));
    expect([...allKeys(policySettings)].map(({ key }) => key).filter((key) => !words.has(key))).toEqual([]);
  });

  test('names every field that an expression sees, and every fact', () => {
    const words = new Set(text.match(/\w+/g));
    const environments = [WORKFLOW_ENTRY, DEAD_LETTER, ACCOUNT_BUDGET].flatMap(({ variables }) =>
      Object.entries(variables).flatMap(([name, fields]) => [name, ...Object.keys(fields)]),
    );
    const names = [...environments, ...Object.keys(TRIGGER_FIELDS), ...Object.keys(FACT_FUNCTIONS)];
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });

  test('shows policies that load: four lines, and most of the keys', () => {
    const account = `
accounts:
  - name: production
    url: embedded
    budget: { knownUsd: 200, assertedOn: 2026-11-01 }
hooks:
  listen: ":10778"
  alertmanager: { opsd: { token: s3cr3t } }
  callbacks: { production: { token: s3cr3t } }
`;
    const [four, all] = blocks(text, 'yaml').map((block) => loadShown(account + block));
    expect(four).toMatchObject({ ok: true, warnings: [], config: { policies: [{ settings: { mode: 'audit' } }] } });
    expect(all).toMatchObject({ ok: true, warnings: [] });
  });
});

describe('docs/canaries.md', () => {
  const text = read('docs/canaries.md');

  test('has every verdict, phase, and outcome', () => {
    expect(firstCells(text)).toEqual([...CANARY_VERDICTS, ...CANARY_PHASES, ...CANARY_OUTCOMES]);
  });

  test('shows a configuration and a precondition that load', () => {
    const [config, precondition] = blocks(text.replaceAll(/^ {3}/gm, ''), 'yaml');
    const policy = `policies:
  - name: resume
    account: production
    select: { resource: workflow-dlq }
    action: { type: workflow-dlq.resume }
    ${precondition!.replaceAll('\n', '\n    ')}`;
    expect(loadShown(`${config!}${policy}`)).toMatchObject({ ok: true, warnings: [] });
  });
});

test('docs/api.md shows tokens that load', () => {
  const loaded = loadShown(ACCOUNT + blocks(read('docs/api.md'), 'yaml')[0]!);
  expect(loaded).toMatchObject({ ok: true, config: { server: { tokens: [{ name: 'oncall', role: 'operator' }] } } });
});

describe('docs/tls-and-users.md and docs/security.md', () => {
  const text = read('docs/security.md');

  test('show a web configuration file and a configuration that load together', async () => {
    const [web, config] = blocks(read('docs/tls-and-users.md'), 'yaml');
    const { cert, key } = await (await authority()).issue();
    const folder = tempDir();
    for (const [name, held] of Object.entries({ 'web.yaml': web!, 'server.crt': cert, 'server.key': key })) {
      writeFileSync(join(folder, name), held);
    }
    const loaded = parseConfig(`   ${ACCOUNT}${config!}`, { file: 'tls-and-users.md', baseDir: folder, env: {} });
    expect(loaded).toMatchObject({ ok: true, warnings: [], config: { server: { users: { alice: 'admin' } } } });
    expect(loaded.ok && [...loaded.config.security.server!.users.keys()]).toEqual(['alice', 'prometheus']);
  });

  test('name every option, and every key of the configuration', () => {
    const words = new Set(text.match(/[\w-]+/g));
    const keys = ['webConfigFile', 'users', 'anonymous', 'probes', 'tokens'];
    const options = ['url', ...Object.keys(DAEMON_OPTIONS).filter((name) => name.endsWith('-file'))].map(
      (name) => `--${name}`,
    );
    expect([...keys, ...options].filter((word) => !words.has(word))).toEqual([]);
  });
});

/** Anchors of a page: those of its headings, as GitHub derives them, and those that it names. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replaceAll(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text.matchAll(/<a id="([\w-]+)">/g)].map((match) => match[1]!)];
}

const OTHER_PAGES =
  'README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md deploy/README.md dashboards/README.md emulator/README.md bench/README.md';

test.each([...OTHER_PAGES.split(' '), ...PAGES])('%s links to files and anchors that exist', (file) => {
  const links = [...read(file).matchAll(/\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)/g)];
  const broken = links.filter(([, target, anchor]) => {
    const path = target === '' ? file : join(dirname(file), target!);
    if (!existsSync(join(ROOT, path))) return true;
    return anchor !== undefined && !anchorsOf(read(path)).includes(anchor);
  });
  expect(broken.map(([link]) => link)).toEqual([]);
  // A label that names a page names the page that the link opens.
  const labelled = [...read(file).matchAll(/\[`?([\w-]+\.md)`?\]\((?!https?:)([\w./-]+)/g)];
  expect(labelled.filter(([, label, target]) => basename(target!) !== label).map(([link]) => link)).toEqual([]);
});

test('texts of the program, the manifests, and the configuration name pages that exist', () => {
  const files = globSync(
    ['{src,emulator/src,dashboards}/**/*.ts', 'deploy/**/*.{ts,yaml,md,sql}', 'config.example.yaml'],
    {
      cwd: ROOT,
    },
  );
  const named = files.flatMap((file) => [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => page));
  expect(named.length).toBeGreaterThan(20);
  expect([...new Set(named)].filter((page) => !existsSync(join(ROOT, page)))).toEqual([]);
});

/** Terms of the glossary that are everyday words too: pages link them where they need it. */
const EVERYDAY = new Set(
  (
    'account action adopt approval claim destination engine epoch group hold instance items label-value lease mode ' +
    'operator outcome owner pause plan reading receiver replica resume settle step store takeover window'
  ).split(' '),
);
const TERMS = [...read('docs/glossary.md').matchAll(/^- <a id="([\w-]+)"><\/a>\*\*(.+?)\*\*: \S.*\.$/gm)].map(
  (match) => ({
    anchor: match[1]!,
    term: match[2]!,
  }),
);

/** The title of a page, and the question that it answers. */
const QUESTION = /^# .+\n\n\*[^*]+\?\*\n/;

/** The paragraphs and lists of a page, without its question and generated parts. Links, except those to the glossary, are removed. */
function runningText(page: string): string {
  return page
    .replaceAll(MARKED, '')
    .replace(QUESTION, '')
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .replaceAll(/^(?:#| *\|).*$/gm, '')
    .replaceAll(/<[^>]*>|`[^`]*`|\[[^\]]*\]\((?![^)]*glossary\.md#)[^)]*\)/g, '');
}

test('docs/glossary.md has one line for each term, in order, with its anchor', () => {
  expect(TERMS.map(({ anchor }) => anchor)).toEqual(TERMS.map(({ term }) => term.toLowerCase().replaceAll(' ', '-')));
  expect(TERMS.length).toBe(read('docs/glossary.md').match(/^- /gm)!.length);
  const order = new Intl.Collator('en');
  expect(TERMS.map(({ term }) => term)).toEqual(TERMS.map(({ term }) => term).toSorted(order.compare));
  expect([...EVERYDAY].filter((word) => TERMS.every(({ anchor }) => anchor !== word))).toEqual([]);
});

test.each(['README.md', ...PAGES.filter((page) => !/glossary|metrics\.md$/.test(page) || /-metrics/.test(page))])(
  '%s links each term to the glossary at its first use',
  (file) => {
    let text = runningText(read(file));
    const unlinked: string[] = [];
    // Longer terms first: "policy run" is not a use of "policy".
    for (const { term, anchor } of TERMS.toSorted((one, other) => other.term.length - one.term.length)) {
      const words = term.replace(/y$/, '(?:y|ies)').replaceAll(' ', String.raw`\s+`);
      const use = new RegExp(
        String.raw`(?<!OpenTelemetry )(?<![\w-])${words}s?(?![\w-])(\]\([\w./]*glossary\.md#${anchor}\))?`,
        'gi',
      );
      const [first] = text.matchAll(use);
      if (first !== undefined && first[1] === undefined && !EVERYDAY.has(anchor)) unlinked.push(first[0]);
      text = text.replaceAll(use, '');
    }
    expect(unlinked).toEqual([]);
  },
);

test('each guard has its remedy in docs/guards.md', () => {
  expect(read('docs/guards.md').match(/^- <a id="\w+">.+\. \*Remedy\*: .+\.$/gm)).toHaveLength(GUARDS.length);
});

test.each(['docs/hooks.md', 'docs/notifications.md', 'docs/monitoring.md'])(
  '%s shows a configuration that loads',
  (file) => {
    const shown = blocks(read(file), 'yaml').find((block) => /^(?:hooks|notifications):/.test(block));
    expect(loadShown(ACCOUNT + shown!)).toMatchObject({ ok: true, warnings: [] });
  },
);

test('docs/accounts.md shows accounts, limits, a budget, and a policy that load together', () => {
  const [accounts, limits, budget, policy] = blocks(read('docs/accounts.md'), 'yaml');
  const loaded = loadShown([accounts, limits, budget, policy].join(''));
  expect(loaded).toMatchObject({ ok: true, config: { accounts: [{}, { limits: {}, budget: { knownUsd: 500 } }] } });
});

test('the unit of docs/install.md starts the daemon, and waits for its stop as Kubernetes does', async () => {
  const [unit] = blocks(read('docs/install.md'), 'ini');
  const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit!)![1]!;
  const [, name, ...rest] = shellWords(value('ExecStart'));
  const { command, args } = await namedCommand([name!, ...rest]);
  expect(command!.name).toBe('run');
  expect(() => parseArguments(command!, args)).not.toThrow();
  expect(value('Environment')).toContain(`OPSD_STORE=/var/lib/${value('StateDirectory')}/`);
  expect(read('deploy/kubernetes/base/deployment.yaml')).toContain(
    `terminationGracePeriodSeconds: ${value('TimeoutStopSec')}\n`,
  );
});

test('docs/notifications.md shows the JSON as it is sent', () => {
  expect(JSON.parse(blocks(read('docs/notifications.md'), 'json')[0]!)).toEqual(
    webhookMessage({ notification: NOTIFICATION, startedAt: NOTIFICATION.at }),
  );
});

test('the configuration of the demo is valid', () => {
  const env = Object.fromEntries(
    ['FOLDER', 'ACCOUNT', 'TOKEN', 'USERNAME', 'PASSWORD', 'SEARCH_INDEX', 'VECTOR_INDEX'].map((name) => [
      `OPSD_DEMO_${name}`,
      'x',
    ]),
  );
  const loaded = loadConfig(join(ROOT, 'src/cli/commands/demo.yaml'), {
    env: {
      ...env,
      OPSD_DEMO_URL: 'http://127.0.0.1:1',
      OPSD_DEMO_HOOKS_LISTEN: '127.0.0.1:2',
      OPSD_DEMO_HOOKS_URL: 'http://127.0.0.1:2',
      OPSD_DEMO_LOG_LEVEL: 'info',
      OPSD_DEMO_TODAY: '2026-11-20',
    },
  });
  expect(loaded).toMatchObject({ ok: true, warnings: [] });
});

test('the image starts what the scripts start', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { opsd: string } };
  const entry = /^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))![1]!;
  expect((JSON.parse(entry) as string[]).join(' ')).toBe(scripts.opsd.replace('src/', 'dist/'));
});
