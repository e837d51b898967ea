/** The pages over real HTTP: their content, escaping, and links. */
import { describe, expect, test } from 'vitest';
import type { AccountReading } from '#foundation/domain/statistics.ts';
import { readStatus } from '#operate/api/status.ts';
import type { Role } from '#operate/http/access.ts';
import { busyWorld, CANARY, POLICY, RUN } from '../http/busy-world.ts';
import {
  action,
  ask,
  engine,
  incident,
  incidents,
  ledger,
  NOW,
  plan,
  proposal,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
  type World,
} from '../http/world.ts';
import { basicOf, browserOf, busy, emptyWorld, hostileWorld, ROTATIONS, OPERATOR, PAGES, withUsers } from './worlds.ts';

describe('the page of active policies', () => {
  const GROUP = "https://app.example.com/x'; reboot '";

  async function page(overrides: Partial<World>, path = '/'): Promise<string> {
    const { address } = await serving(busyWorld(overrides));
    return (await ask(address, path)).text.replaceAll(/\s+/g, ' ');
  }

  test('has a description, and an icon whose address is encoded', async () => {
    const markup = await page({});
    expect(markup).toMatch(/<meta name="description" content="[^"]+" \/>/);
    expect(/<link rel="icon" href="([^"]+)"/.exec(markup)![1]).not.toMatch(/\s/);
  });

  test('folds all problems but the first below the worst of them', async () => {
    const conditions = Array.from({ length: 50 }, (_, index) => ({
      key: `held/p-${index}`,
      severity: 'warning' as const,
      summary: `p-${index} is held`,
      detail: 'odd',
      since: NOW,
    }));
    const overrides = { engine: engine({ conditions: () => conditions }) };
    const markup = await page(overrides);
    const { problems } = (await readStatus(busyWorld(overrides), 20)).verdict;
    const [first, second] = problems;
    expect(/<h1>.*?<\/h1>/.exec(markup)![0]).toContain(first!.text);
    const folded = /<details class="rows also">.*?<\/details>/.exec(markup)![0];
    expect(/<summary>.*?<\/summary>/.exec(folded)![0]).toContain(
      `${second!.text}</span> and ${problems.length - 2} more`,
    );
    expect(folded.match(/<li>/g)).toHaveLength(problems.length - 1);
  });

  const REPAIRED = 'repaired.example answers 503';
  const UNREPAIRED = 'nobody.example answers 503';
  test.each([
    ['pending', [REPAIRED, 'Read plan 9f3c2a', UNREPAIRED]],
    // A policy that waits for a decision repairs nothing.
    ['approved', [UNREPAIRED, REPAIRED]],
  ] as const)(
    'with the plan %s, shows the first outage, then the decision, then the other outage',
    async (state, expected) => {
      const down = { delivered: 0, failed: 30, lost: 30, since: NOW - 600_000, lastAt: NOW, isSinceKnown: true };
      const outage = (host: string) => ({ host, ...down, reasons: [{ reason: 'HTTP 503', count: 30 }] });
      const base = world();
      const deps = busyWorld({
        incidents: {
          ...base.incidents,
          selectedBy: (_account, { runs }) =>
            new Map(runs.some(({ workflowUrl }) => workflowUrl.includes('//repaired')) ? [['resume-billing', 1]] : []),
        },
        policies: async () => [RESUME_BILLING],
        outages: (account) => (account === 'production' ? [outage('repaired.example'), outage('nobody.example')] : []),
        ledger: ledger({ storedPlans: async () => [storedPlan({ state })] }),
      });
      const rows = ['repaired', 'nobody'].map((host) => ({
        dlqId: host,
        workflowRunId: host,
        workflowUrl: `https://${host}.example/workflow`,
        createdAt: NOW,
        labels: [],
      }));
      deps.publish('workflowDlq', rows);
      const { address } = await serving(deps);
      const markup = (await ask(address, '/')).text.replaceAll(/\s+/g, ' ');
      const parts = [
        /<h1>.*?<\/h1>/,
        /<ul class="rows" aria-label="To do">.*?<\/ul>|$/,
        /<ul class="rows" aria-label="Also">.*?<\/ul>/,
      ];
      const verdict = parts.map((part) => part.exec(markup)![0]);
      const shown = [...verdict.join('').matchAll(/Read plan 9f3c2a|\S+\.example answers 503/g)].map(([text]) =>
        text.replace(/.*>/, ''),
      );
      expect(shown).toEqual(expected);
    },
  );

  test('shows active conditions first, with the next command', async () => {
    const halted = {
      key: `halted/resume-billing/${GROUP}`,
      severity: 'warning',
      policy: 'resume-billing',
      group: GROUP,
      summary: 'resume-billing has halted',
      detail: '3 of the first 3 failed',
      since: NOW - 300_000,
    } as const;
    const told = { ...halted, key: 'paused/policy/p', summary: 'Paused: policy/p' };
    const markup = await page({
      engine: engine({ conditions: () => [halted, told] }),
      ledger: ledger({ pauses: async () => [{ scope: 'policy/p', reason: 'odd', at: NOW - 60_000, by: 'engine' }] }),
    });
    expect(markup.indexOf('id="conditions"')).toBeLessThan(markup.indexOf('id="actions"'));
    expect(markup).toContain('the daemon paused itself');
    expect(markup, 'a pause is one row').not.toContain('Paused: policy/p');
    expect(markup).toContain('<code>opsd unpause --policy p --reason TEXT</code>');
    expect(markup).toContain('3 of the first 3 failed');
    // A workflow's name must not become a separate command in the shell of an operator who copies this.
    const word = String.raw`'https://app.example.com/x'\''; reboot '\'''`.replaceAll("'", '&#39;');
    expect(markup).toContain(`<code>opsd unpause --policy resume-billing --group ${word} --reason TEXT</code>`);
  });

  test('has the next command of each condition, as this process was started', async () => {
    const kinds = ['held', 'approval', 'unknown', 'reload'];
    const of = { severity: 'warning', policy: 'p', summary: 's', detail: 'd', since: NOW } as const;
    const markup = await page({
      engine: engine({ conditions: () => kinds.map((kind) => ({ ...of, key: `${kind}/p` })) }),
      ledger: ledger({ storedPlans: async () => [storedPlan({ plan: plan({ policy: 'p' }) })] }),
      command: (text) => `npm run --silent opsd -- ${text} --socket /s`,
    });
    for (const command of ['plan p', 'approve 9f3c2a', 'audit --policy p --since 2h', 'reload']) {
      expect(markup).toContain(`<code>npm run --silent opsd -- ${command} --socket /s</code>`);
    }
    expect(markup).not.toContain('<code>opsd');
  });

  test('has buttons in place of commands for operators', async () => {
    const kinds = ['held', 'approval', 'halted'];
    const of = { severity: 'warning', policy: 'p', group: GROUP, summary: 's', detail: 'd', since: NOW } as const;
    const conditions = () => kinds.map((kind) => ({ ...of, key: `${kind}/p` }));
    const storedPlans = async () => [storedPlan({ plan: plan({ policy: 'p' }) })];
    const deps = world({ ...withUsers(), engine: engine({ conditions }), ledger: ledger({ storedPlans }) });
    const table = async (role: Role) =>
      /<h2 id="conditions">.*?<\/table>/s.exec(
        await (await browserOf({ ...deps, roles: new Map([[OPERATOR.user, role]]) })).page('/'),
      )![0];
    const operator = await table('operator');
    expect(operator).toContain('<a class="button" href="/policies/p">Open p</a>');
    expect(operator).toMatch(/action="\/plans\/9f3c2a".*?Approve 2 actions<\/button>/s);
    // Only administrators lift a halt.
    expect(operator).toContain('<code>opsd unpause --policy p');
    expect(await table('admin')).toMatch(/action="\/pauses\/lift".*?Lift the halt<\/button>/s);
  });

  test('rewrites the commands in texts as this process was started', async () => {
    const detail = '183 matched; `opsd approve 9f3c2a`, or `opsd reject 9f3c2a`.';
    const markup = await page({
      engine: engine({
        conditions: () => [{ key: 'held/p', severity: 'warning', policy: 'p', summary: 's', detail, since: NOW }],
      }),
      ledger: ledger({ pauses: async () => [{ scope: 'engine', reason: 'odd', at: NOW - 60_000, by: 'engine' }] }),
      command: (text) => `npm run --silent opsd -- ${text} --socket /s`,
    });
    for (const command of ['approve 9f3c2a', 'reject 9f3c2a']) {
      expect(markup).toContain(`\`npm run --silent opsd -- ${command} --socket /s\``);
    }
    expect(markup).toContain('<code>npm run --silent opsd -- unpause --reason TEXT --socket /s</code>');
    expect(markup).not.toContain('`opsd');
  });

  test('shows pending plans, their reason, and how to decide', async () => {
    const needsApproval = { guard: 'tripwire', reason: '183 matched, at most 100' };
    const asked: unknown[] = [];
    const waiting = [storedPlan({ plan: plan({ needsApproval }) })];
    const markup = await page({ ledger: ledger({ storedPlans: async (states) => (asked.push(states), waiting) }) });
    expect(asked).toEqual([['pending', 'approved']]);
    expect(markup).toContain('183 matched, at most 100');
    expect(markup).toContain('Resume 2 runs?');
    expect(markup).toContain('href="/plans/9f3c2a">Read plan 9f3c2a</a>');
  });

  test('a run that waits for a person is not shown as a success', async () => {
    const lastRun = { ...RUN, outcome: 'pending_approval' as const };
    const waiting = ledger({ lastRuns: async () => [lastRun], storedPlans: async () => [storedPlan()] });
    const markup = await page({ ledger: waiting, policies: async () => [{ ...POLICY, lastRun }] }, '/policies');
    expect(markup).toContain('<span class="state attention">pending approval</span>');
    expect(markup).not.toContain('no run so far');
    expect(await page({ ledger: ledger(), policies: async () => [POLICY] }, '/policies')).toContain('no run so far');
  });

  test('shows campaigns by group: state, step, verified results, end', async () => {
    const campaign = {
      id: 'resume-billing/1',
      policy: 'resume-billing',
      account: 'production',
      group: 'https://app.example.com/invoice',
      state: 'halted',
      step: 4,
      size: 27,
      begunAt: NOW - 3_600_000,
      until: NOW + 1_500_000,
      halts: 1,
      recent: [],
      judged: 16,
      verified: 13,
      reason: '3 of the last 3 failed',
      breaker: 'open',
    } as const;
    const held = { guard: 'quota', reason: '429', since: NOW - 600_000 };
    const pending = { trigger: 'alert', alert: 'BillingDown', count: 3, since: NOW - 120_000 } as const;
    const policies = async () => [{ ...POLICY, campaigns: [campaign], held, pending, probationLeft: 2 }];
    const markup = await page({ policies }, '/policies');
    expect(markup).toContain('alert BillingDown and 2 more, for 2 min, runs when the hold by quota ends');
    const told = ['at most 27', '13 of 16', 'the breaker is open', 'in 25 min', '3 of the last 3 failed'];
    for (const text of told) expect(markup).toContain(text);
    expect(markup).toContain('held for 10 min by quota');
    expect(markup).toContain('on probation: 2 more audit runs');
  });

  test('shows incidents in their table, to which the verdict links, and not as conditions', async () => {
    const told = {
      key: 'incident/3f2a91bc0d',
      severity: 'critical',
      summary: 'Incident in production',
      detail: '62 dead letters',
      since: NOW,
    } as const;
    const markup = await page({ incidents: busy().incidents, engine: engine({ conditions: () => [told] }) });
    expect(markup).toContain('<a href="/incidents/3f2a91bc0d">');
    expect(markup, 'its row says more').not.toContain('Incident in production');
    expect(markup).not.toContain('id="conditions"');
  });

  test('members that cannot be listed are at least the known ones, and may be selected by a policy', async () => {
    const own = incident({
      kind: 'destination',
      now: { workflow: 0, message: 0 },
      ever: 0,
      deliveries: { failed: 55, lost: 19, since: 0, isSinceKnown: false, lastAt: NOW, isFailing: true },
    });
    const unlisted = { incidents: incidents({ all: () => [own], find: () => own }) };
    const list = await page(unlisted, '/incidents');
    expect(list).toMatch(/>at least 0 known\b.{0,60}19 failed messages/);
    expect(list).not.toContain('0 ever');
    expect(list).toContain('or earlier');
    const markup = await page(unlisted, `/incidents/${own.id}`);
    expect(markup).toContain('at least 0 known</a>');
    expect(markup).toContain('more are possible: no operation lists the message DLQ');
    expect(markup).not.toContain('No policy selects');
    expect(markup).toContain('not known whether a policy selects one');
    const listed = { ...own, kind: 'workflow' as const, now: { workflow: 2, message: 0 }, ever: 3 };
    const exact = await page({ incidents: incidents({ find: () => listed }) }, `/incidents/${own.id}`);
    expect(exact).toContain('>2</a>');
    expect(exact).not.toContain('at least');
  });

  test('omits absent parts', async () => {
    const markup = await page({});
    for (const id of ['conditions', 'plans', 'campaigns']) expect(markup).not.toContain(`id="${id}"`);
  });
});

describe('the page', () => {
  async function page(deps: World, path = '/'): Promise<string> {
    const { address } = await serving(deps);
    return (await ask(address, path)).text;
  }

  test('escapes every external name and text', async () => {
    const hostile = { policy: CANARY, account: CANARY, dlqId: CANARY, workflowUrl: CANARY };
    const deps = world({
      policies: async () => [
        { ...POLICY, name: CANARY, owner: CANARY, description: CANARY, source: CANARY, reducedBy: CANARY },
      ],
      ledger: ledger({
        lastRuns: async () => [{ ...RUN, policy: CANARY, outcome: 'held', detail: CANARY }],
        recentActions: async () => [action({ proposal: proposal(hostile), detail: CANARY, newRunId: CANARY })],
      }),
      accounts: [{ name: CANARY, messageApiUrl: CANARY, managementApiUrl: CANARY }],
      links: [{ label: CANARY, href: CANARY }],
      readiness: () => ({ ready: false, detail: CANARY }),
    });
    deps.board.register({ account: CANARY, collector: 'logs', schedule: CANARY, intervalMs: 1, maxStalenessMs: 1 });
    deps.board.fail(CANARY, 'logs', { reason: CANARY, message: CANARY, durationMs: 1 });
    let escaped = 0;
    for (const path of ['/', '/sources', '/policies', `/policies/${encodeURIComponent(CANARY)}`]) {
      const markup = await page(deps, path);
      expect(markup).not.toContain('<script>');
      expect(markup).not.toContain('"x"');
      escaped += markup.split('&lt;script&gt;').length - 1;
    }
    expect(escaped).toBeGreaterThan(30);
  });

  test('has the style sheet and the script of the daemon, cached by their hash, and allows nothing else', async () => {
    const { address } = await serving(world());
    const answer = await ask(address, '/');
    const policy = answer.headers['content-security-policy'] as string;
    expect(policy).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self'; /);
    expect(policy).toContain("form-action 'self'");
    expect(policy).not.toContain('unsafe');
    expect(answer.text).not.toMatch(/ style="| on\w+="|<style/);
    const files = [...answer.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(files).toHaveLength(2);
    for (const path of files) {
      const file = await ask(address, path);
      const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(file.body));
      expect(path).toContain(Buffer.from(digest).toString('hex').slice(0, 16));
      expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
    expect((await ask(address, '/assets/opsd-0000000000000000.js')).status).toBe(404);
  });

  test('a link that is not a page is text', async () => {
    const markup = await page(
      world({
        links: [
          { label: 'x', href: 'javascript:alert(1)' },
          { label: 'y', href: '//a.b' },
        ],
      }),
    );
    expect(markup).not.toContain('href="javascript:');
    expect(markup).not.toContain('href="//');
  });

  test('explains empty sections', async () => {
    expect(await page(world(), '/')).toContain('No actions so far');
    expect(await page(world(), '/policies')).toContain('No policy is configured');
    const sources = await page(world(), '/sources');
    expect(sources).toContain('No collector is registered yet');
    expect(sources).toContain('No account is configured');
  });

  test('shows sources, policies, actions, accounts and links', async () => {
    const pages = ['/', '/sources', '/policies'].map((path) => page(busyWorld(), path));
    const markup = (await Promise.all(pages)).join('');
    for (const text of [
      '<title>Trouble',
      '5 s ago',
      'counted until',
      '20 s behind',
      'forbidden: HTTP 403',
      'no vector index is configured',
      'Billing runs get more tries.',
      'policies/billing.yaml:3',
      'configured as enforce: engine.mode is audit',
      '209 matched: 27 acted on, 182 left',
      'in 1 min',
      'dlq-8812',
      'pending',
      'new run',
      'https://api.example',
      'message 12 of 200,000',
      'href="http://127.0.0.1:8080/"',
      'datetime="2026-11-18T10:29:55.000Z" data-age title="2026-11-18 10:29:55Z">5 s ago</time>',
    ]) {
      expect(markup).toContain(text);
    }
  });

  test('shows the owner and the epoch of each account that replicas share, and the replica that responds', async () => {
    const owners = new Map([
      ['production', { replica: 'opsd-0', epoch: 3, isOwn: true }],
      ['staging', { replica: 'opsd-1', epoch: 7, isOwn: false }],
      ['test', { epoch: 9, isOwn: false }],
    ]);
    const accounts = [...owners.keys()].map((name) => ({ name }));
    const shared = world({ accounts, replica: { name: 'opsd-0', problem: undefined, owners: () => owners } });
    const words = (markup: string): string => markup.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    const sources = words(await page(shared, '/sources'));
    for (const text of ['opsd-0 (this replica) epoch 3', 'opsd-1 epoch 7', 'no replica epoch 9', 'replica opsd-0']) {
      expect(sources).toContain(text);
    }
    expect(await page(shared, '/')).toContain('href="/sources#accounts"');
    expect(words(await page(world({ accounts }), '/sources'))).not.toContain('epoch');
  });

  test('every table has a caption and scopes, and every link within the page has its target', async () => {
    for (const [path, tables] of [
      ['/', 2],
      ['/sources', 2],
      ['/policies', 1],
      ['/policies/resume-billing', 1],
    ] as const) {
      const ran = ledger({ runs: async () => [RUN], recentActions: async () => [action()] });
      const markup = await page(busyWorld({ ledger: ran }), path);
      const count = (pattern: RegExp): number => markup.match(pattern)?.length ?? 0;
      expect(count(/<table/g), path).toBe(tables);
      expect(count(/<caption>/g)).toBe(tables);
      expect(count(/<th /g)).toBe(count(/ scope="(col|row)"/g));
      for (const [, anchor] of markup.matchAll(/href="#([^"]+)"/g)) expect(markup).toContain(`id="${anchor}"`);
    }
  });

  test('one account limits the pages, and stays in their links', async () => {
    const of = (path: string): Promise<string> => page(busyWorld(), path);
    const [all, other] = await Promise.all([of('/policies?account=production'), of('/policies?account=staging')]);
    expect(all).toContain('href="/policies/resume-billing"');
    expect(other).not.toContain('href="/policies/resume-billing"');
    expect(other).toContain('href="/incidents?account=staging"');
    expect(other).toContain('<a href="/policies">all accounts</a>');
    // The heading is the worst problem of the account, not of all.
    const counts = { delivered: 0, failed: 30, lost: 30, since: NOW - 600_000, lastAt: NOW, isSinceKnown: true };
    const outage = { host: 'down.example', ...counts, reasons: [{ reason: 'HTTP 503', count: 30 }] };
    const down = busyWorld({ outages: (account) => (account === 'production' ? [outage] : []) });
    const heading = async (path: string) => /<h1>.*?<\/h1>/s.exec(await page(down, path))![0];
    expect(await heading('/')).toContain('down.example answers 503');
    expect(await heading('/?account=production')).toContain('down.example answers 503');
    expect(await heading('/?account=staging')).not.toContain('down.example');
    expect(await of('/sources?account=production')).toContain('id="source-production-urlGroups"');
    expect(await of('/sources?account=staging')).not.toContain('id="source-production-urlGroups"');
    // No account limits the audit log, so it offers none.
    expect(await of('/audit')).not.toContain('all accounts');
    expect(await page(world({ accounts: [{ name: 'only' }] }), '/')).not.toContain('all accounts');
  });

  test('reloads itself only when asked', async () => {
    expect(await page(world())).not.toContain('http-equiv="refresh"');
    expect(await page(world(), '/?refresh=10')).toContain('<meta http-equiv="refresh" content="10"');
    expect(await page(world(), '/?refresh=0')).not.toContain('http-equiv="refresh"');
    expect(await page(world(), '/?refresh=x"><script>')).not.toContain('<script>');
  });
});

describe('the text of every page', () => {
  /** Returns the markup of each page, as an operator sees it, by its path. */
  async function markups(deps: World): Promise<ReadonlyMap<string, string>> {
    const { page } = await browserOf(deps);
    const pages = PAGES.map(async (path) => [path, await page(path)] as const);
    return new Map(await Promise.all(pages));
  }

  const textOf = (markup: string): string => markup.replaceAll(/<[^>]+>/g, '\n').replaceAll(/ *\n\s*/g, '\n');

  test.each([
    ['empty', emptyWorld],
    ['full', busy],
  ])('has times that the script makes local, no word twice, and right plurals: %s', async (_name, make) => {
    for (const [path, markup] of await markups(make())) {
      const text = textOf(markup.replaceAll(/<time .*?<\/time>/gs, ''));
      expect(text.match(/.*\d\d:\d\d:\d\d.*/g), `${path}: a time without <time>`).toBeNull();
      expect(text.match(/.*\b([a-z]{2,}) \1\b.*/gi), `${path}: a word twice`).toBeNull();
      expect(text.match(/.*\b1 (?:[a-z]+ )?(?!as\b|is\b)[a-z]{3,}s\b.*/g), `${path}: one of several`).toBeNull();
      expect(text, path).not.toMatch(/undefined|NaN|\[object|Infinity/);
      const ids = [...markup.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
      expect(ids, path).toEqual([...new Set(ids)]);
    }
  });

  test.each(ROTATIONS)('folds long texts of the service, rotation %i', async (rotation) => {
    for (const [path, markup] of await markups(hostileWorld(rotation))) {
      const shown = markup.replaceAll(/<(details|pre)\b.*?<\/\1>/gs, '\n');
      const longest = Math.max(
        ...textOf(shown)
          .split('\n')
          .map((line) => line.length),
      );
      expect.soft(longest, path).toBeLessThan(1_000);
    }
  });

  test('of an unknown address names no address of the API', async () => {
    const missing = (await markups(busy())).get('/nothing')!;
    expect(missing).toContain('There is no page /nothing.');
    expect(missing).not.toContain('/api/v1/pause');
  });

  test('shows the commands of a message as code', async () => {
    const { page } = await browserOf(busy());
    expect(await page('/dead-letters/none?account=production')).toContain('; <code>opsd explain ID</code> shows');
  });
});

test('the audit page has a sentence for each plan, with its records and their fields folded', async () => {
  const record = { sequence: 2, time: '2026-11-18T10:29:00.000Z', store: 's', opening: 1, previous: '', hash: 'h2' };
  const of = { ...record, policy: 'resume-billing', plan: '1a4d74' };
  const decided = { ...of, type: 'plan.decided', state: 'approved', by: 'anna', covers: 12 };
  const saved = { ...of, type: 'plan.saved', state: 'pending', covers: 12, sequence: 1, hash: 'h1' };
  const deps = busy();
  const search = () => Promise.resolve({ records: [decided, saved], damaged: 0 });
  const { page } = await browserOf({ ...deps, audit: { ...deps.audit, search } });
  const [, table = ''] = (await page('/audit')).split('<tbody');
  const shown = table.replace(/<details.*<\/details>/s, '').replaceAll(/<[^>]+>/g, '');
  expect(shown).toContain('anna approved the plan 1a4d74 of resume-billing: 12 actions');
  expect(shown).not.toMatch(/covers|h2|made the plan/);
  expect(table).toContain('<summary>2 records</summary>');
  const folded = table.replaceAll(/<[^>]+>/g, '');
  expect(folded).toContain('resume-billing made the plan 1a4d74: 12 actions, pending approval');
  for (const field of ['covers=12', 'hash=h2', 'hash=h1', 'sequence=1']) expect(folded).toContain(field);
});

test('a manual plan has the form that lifts its own pause, and none that lifts a pause of all policies', async () => {
  const manual = { by: 'olga', reason: 'x', selection: { account: 'production', action: 'resume' as const } };
  const made = storedPlan({ plan: plan({ id: 'ab12', policy: 'manual:ab12', manual }), state: 'approved' });
  const pagePaused = async (scope: string): Promise<string> => {
    const deps = busy();
    const pauses = async () => [{ scope, reason: 'x', at: NOW, by: 'alice' }];
    const { page } = await browserOf({ ...deps, ledger: { ...deps.ledger, pauses, storedPlan: async () => made } });
    return page('/plans/ab12');
  };
  expect(await pagePaused('policy/manual:ab12')).toContain('action="/pauses/lift"');
  const ofAll = await pagePaused('engine');
  expect(ofAll).not.toContain('action="/pauses/lift"');
  expect(ofAll).toContain('Pause this plan');
});

describe('a plan made on the page of its policy', () => {
  const { id: _id, ...unkept } = plan();

  async function made(hash: string) {
    const acts: string[] = [];
    const deps = busy();
    const { post } = await browserOf({
      ...deps,
      engine: {
        ...deps.engine,
        plan: async (_policy, { keep }) => {
          acts.push(keep ? 'keep' : 'show');
          return { ok: true, plan: keep ? plan({ hash }) : unkept };
        },
        apply: async (id, { reason = '' }) => {
          acts.push(`apply ${id}: ${reason}`);
          return { ok: true, plan: plan(), result: { outcome: 'acted', acted: 1 }, stored: storedPlan() };
        },
      },
    });
    return { acts, post: (fields: Readonly<Record<string, string>>) => post('/policies/resume-billing', fields) };
  }

  test('is only shown, with its actions as buttons, and stored when an operator acts', async () => {
    const { acts, post } = await made(unkept.hash);
    const { status, text } = await post({ act: 'show' });
    expect(status).toBe(200);
    expect(text).toContain('Nothing was changed or stored.');
    expect(text).toContain('Apply 183 actions</button>');
    expect(acts).toEqual(['show']);
    const hash = /name="hash" value="(\w+)"/.exec(text)![1]!;
    expect(await post({ act: 'keep', hash })).toMatchObject({ status: 303, headers: { location: '/plans/9f3c2a' } });
    expect(await post({ act: 'apply', hash, reason: 'repaired' })).toMatchObject({ status: 303 });
    expect(acts).toEqual(['show', 'keep', 'keep', 'apply 9f3c2a: repaired']);
  });

  test('is not applied if its content has changed since it was shown', async () => {
    const { acts, post } = await made('0'.repeat(64));
    expect(await post({ act: 'apply', hash: unkept.hash })).toMatchObject({ status: 303 });
    expect(acts).toEqual(['keep']);
  });
});

describe('an approval of a plan of a policy', () => {
  const approved = {
    plan: plan({
      state: 'held',
      chosen: [],
      stopped: { guard: 'destination', reason: '0.63 of 43 succeeded' },
      checks: [{ guard: 'destination', passed: false, reason: '0.63 of 43 succeeded' }],
    }),
    state: 'approved',
    approvedBy: 'tom',
    approvedAt: NOW - 60_000,
    targets: ['dlq-58', 'dlq-8813'],
    left: 1,
  } as const;

  async function pages(change: Parameters<typeof storedPlan>[0] = {}) {
    const deps = busy();
    const stored = storedPlan({ ...approved, ...change });
    const resumed = action({ at: NOW - 30_000, proposal: proposal({ target: 'dlq-58' }), outcome: 'verified' });
    const over = {
      storedPlan: async () => stored,
      storedPlans: async (states: readonly string[]) => (states.includes(stored.state) ? [stored] : []),
      actionsOf: async () => [resumed],
    };
    const { address } = await serving({ ...deps, ledger: { ...deps.ledger, ...over } });
    return async (path: string, user: string) =>
      (await ask(address, path, { headers: { Authorization: basicOf(user) } })).text.replaceAll(/\s+/g, ' ');
  }

  test('is on the pages of its plan, policy and incident and on the first one, with a button that takes it back', async () => {
    const page = await pages();
    for (const path of ['/', '/policies/resume-billing', '/incidents/3f2a91bc0d', '/plans/9f3c2a']) {
      const text = await page(path, OPERATOR.user);
      expect(text, path).toContain('1 of 2 actions left');
      expect(text, path).toMatch(
        /<form method="post" action="\/plans\/9f3c2a" class="act" aria-label="Take the approval back of plan 9f3c2a">/,
      );
      expect(text, path).toContain('<button name="act" value="reject" class="danger">');
      const viewed = await page(path, 'vera');
      expect(viewed, path).not.toContain('action="/plans/9f3c2a"');
      expect(viewed, path).toContain('opsd reject 9f3c2a --reason TEXT');
    }
  });

  test('shows the progress of its plan, and apart from it what was planned', async () => {
    for (const change of [{}, { state: 'applied', by: 'engine', decidedAt: NOW } as const]) {
      const text = await (await pages(change))('/plans/9f3c2a', OPERATOR.user);
      const [now = '', planned = ''] = text.split('<h2 id="planned">As it was planned</h2>');
      expect(now).toMatch(/<dt>Verified<\/dt> <dd>1 <\/dd>/);
      expect(now).toContain('tom');
      expect(now).not.toContain('0.63');
      expect(planned).toContain('0.63 of 43 succeeded');
      expect(planned).not.toContain('<h2');
    }
  });
});

describe('a halted group', () => {
  const GROUPS = ['https://app.example.com/invoice', ''];

  async function halted(lifted: unknown[]): Promise<World> {
    const deps = busy();
    const [first] = await deps.policies();
    const campaigns = GROUPS.map((group) => ({ ...first!.campaigns[0]!, group }));
    const unpause = async (asked: unknown): Promise<number> => lifted.push(asked);
    return { ...deps, policies: async () => [{ ...first!, campaigns }], engine: { ...deps.engine, unpause } };
  }

  test('has a form on the page of its policy that lifts its halt, and no other', async () => {
    const lifted: unknown[] = [];
    const { page, post } = await browserOf(await halted(lifted));
    const text = await page('/policies/resume-billing');
    for (const group of GROUPS) {
      expect(text).toContain(`<input type="hidden" name="group" value="${group}" />`);
      const lift = { policy: 'resume-billing', group, reason: 'repaired' };
      expect((await post('/pauses/lift', lift)).status).toBe(303);
    }
    const by = { by: OPERATOR.user, reason: 'repaired', policy: 'resume-billing' };
    expect(lifted).toEqual(GROUPS.map((group) => ({ ...by, group })));
  });
});

describe('log and statistics of an hour', () => {
  const hour = Date.UTC(2026, 10, 18, 9);

  async function pageOf(reconciled: NonNullable<AccountReading['reconciled']>): Promise<string> {
    const deps = busyWorld();
    deps.publish('accountStats', [{ reconciled }]);
    const server = await serving(deps);
    expect((await ask(server.address, '/')).text).not.toContain('id="reconciliation');
    return (await ask(server.address, '/sources')).text;
  }

  /** Returns the visible cells of a table row. */
  function cellsOf(markup: string, anchor: string): string[] {
    const row = new RegExp(`<tr role="row" id="${anchor}">(.*?)</tr>`, 's').exec(markup)?.[1] ?? '';
    const cells = [...row.matchAll(/<t[hd] [^>]*>(.*?)<\/t[hd]>/gs)];
    return cells.map(([, cell]) =>
      cell!
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
  }

  test('are in a table: state, hour, both figures, their difference, and the verdict', async () => {
    const markup = await pageOf([
      { state: 'CREATED', hour, logs: 1_200, statistics: 1_200, agrees: true, isLasting: false },
      { state: 'DELIVERED', hour, logs: 1_000, statistics: 1_080, agrees: false, isLasting: false },
      { state: 'ERROR', hour, logs: 2_000, statistics: 500, agrees: false, isLasting: true },
      { state: 'CANCELLED', hour, logs: 0, statistics: 40, agrees: false, isLasting: false },
    ]);
    const window = '2026-11-18 09:00–10:00';
    expect(cellsOf(markup, 'reconciliation-production-CREATED')).toEqual([
      'CREATED production',
      window,
      '1,200',
      '1,200',
      '0',
      'they agree',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-DELIVERED').slice(2)).toEqual([
      '1,000',
      '1,080',
      '+80 (+8.0 %)',
      'they differ The previous hour does not show this difference.',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-ERROR').slice(2)).toEqual([
      '2,000',
      '500',
      '−1,500 (−75.0 %)',
      'they differ The previous hour differs as well: one of them is incomplete.',
    ]);
    expect(cellsOf(markup, 'reconciliation-production-CANCELLED')[4]).toBe('+40');
  });

  test('says what it takes where nothing can be compared, and nothing at all where no statistics are read', async () => {
    expect(await pageOf([])).toContain('No comparison yet.');
    const server = await serving(world());
    expect((await ask(server.address, '/sources')).text).not.toContain('id="reconciliation"');
  });

  test('is a problem on the first page, with a link to its row', async () => {
    const deps = busyWorld();
    const reconciled = (['ERROR', 'DELIVERED'] as const).map((state) => {
      return { state, hour, logs: 2_000, statistics: 500, agrees: false, isLasting: state === 'ERROR' };
    });
    deps.publish('accountStats', [{ reconciled }]);
    const { address } = await serving(deps);
    const markup = (await ask(address, '/')).text;
    expect(markup).toContain('href="/sources#reconciliation-production-ERROR"');
    expect(markup).not.toContain('#reconciliation-production-DELIVERED"');
  });
});

describe('labels with overflow', () => {
  const label = {
    account: 'production',
    label: 'destination',
    max: 2,
    shown: 2,
    configured: 0,
    hidden: 0,
    overflowAmount: 1_300,
    largestOverflow: [{ value: CANARY, count: 1_250, over: 50 }],
  };

  test('are on the page with their largest values, and as JSON', async () => {
    const server = await serving(
      busyWorld({ labels: () => [{ ...label, label: 'workflow', overflowAmount: 0 }, label] }),
    );
    const page = (await ask(server.address, '/sources')).text;
    expect(page).toContain('<h2 id="labels">Labels</h2>');
    expect(page).toContain('2 of 2');
    expect(page).toMatch(/&lt;script&gt;.*1,200/s);
    expect(page).not.toContain(CANARY);
    expect(page).not.toContain('>workflow<');
    const told = JSON.parse((await ask(server.address, '/api/v1/labels')).text) as { labels: unknown[] };
    expect(told).toMatchObject({ at: NOW, labels: [{ label: 'workflow' }, label] });
  });

  test('have no section on the page when there are none', async () => {
    const server = await serving(busyWorld({ labels: () => [{ ...label, overflowAmount: 0 }] }));
    expect((await ask(server.address, '/sources')).text).not.toContain('id="labels"');
  });
});
