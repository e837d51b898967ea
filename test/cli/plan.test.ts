/** `opsd plan` against a real server on a real unix socket. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../../src/cli/cli.ts';
import { planText } from '../../src/cli/plan-text.ts';
import type { Plan, Proposal } from '../../src/domain/plan.ts';
import type { PolicyStatus } from '../../src/domain/policy-status.ts';
import { ObservationBoard } from '../../src/observations/board.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { ManualClock } from '../../src/platform/manual-clock.ts';
import { startServer } from '../../src/server/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { unprivileged } from '../support/unprivileged.ts';
import { until } from '../support/until.ts';
import { opsd, terminal } from './terminal.ts';

const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

function proposal(overrides: Partial<Proposal> = {}): Proposal {
  return {
    policy: 'resume-billing',
    account: 'production',
    action: 'workflow-dlq.resume',
    dlqId: 'dlq-8812-01',
    workflowRunId: 'wfr_k2f',
    workflowUrl: 'https://app.example.com/api/workflows/invoice',
    lineage: 'l1',
    attempt: 1,
    failedAt: NOW - 5_400_000,
    labels: ['billing', 'tenant:14'],
    cause: 'transient',
    status: 503,
    ...overrides,
  };
}

function plan(overrides: Partial<Plan> = {}): Plan {
  return {
    id: '9f3c2a',
    policy: 'resume-billing',
    account: 'production',
    source: 'policies/billing.yaml:3',
    at: NOW,
    state: 'changes',
    mode: 'enforce',
    effectiveMode: 'enforce',
    read: { pages: 20, entries: 1_241, complete: true, echoChecked: 1_241, clockSkewMs: -400 },
    chosen: [proposal(), proposal({ dlqId: 'dlq-8812-02', attempt: 3, labels: [] })],
    backlog: 1_220,
    skipped: [
      { guard: 'where', reason: 'the expression is false', count: 12 },
      { guard: 'attempts', reason: '3 of 3', count: 7 },
    ],
    evaluationErrors: 0,
    caps: [
      { scope: 'policy', window: 'hour', used: 64, limit: 2_000 },
      { scope: 'engine', window: 'day', used: 88, limit: 20_000 },
    ],
    ...overrides,
  };
}

const HELD: Partial<Plan> = { state: 'held', stopped: { guard: 'quota', reason: '429 within 10 min' } };
const ABORTED: Partial<Plan> = { state: 'aborted', stopped: { guard: 'complete_read', reason: 'page 3 failed' } };
const NOTHING: Partial<Plan> = { state: 'nothing', chosen: [], backlog: 0, skipped: [] };

/** Reasons with which pauses were lifted. */
const lifted: string[] = [];

/** A daemon with these plans, by the name of the policy. @returns the path of its socket */
async function daemon(plans: Readonly<Record<string, Partial<Plan>>>, folder = tempDir()): Promise<string> {
  const clock = new ManualClock(NOW);
  const status = { account: 'a', source: 's', schedule: 'every 5m', mode: 'audit', effectiveMode: 'audit' } as const;
  const server = await startServer(
    {
      clock,
      board: new ObservationBoard(clock),
      ledger: { recentActions: () => [], lastRuns: () => [], unknownOutcomes: () => new Map() },
      logger: createLogger({ level: 'silent', destination: { write: () => undefined } }),
      metrics: () => Promise.resolve({ contentType: 'text/plain', parts: [], gzip: () => Promise.resolve([]) }),
      health: () => ({ healthy: true, detail: '' }),
      readiness: () => ({ ready: true, detail: '' }),
      policies: () => Object.keys(plans).map((name): PolicyStatus => ({ name, ...status })),
      unpause: (reason) => (lifted.push(reason), lifted.length),
      state: { auditHead: () => undefined, backup: () => Promise.resolve({ bytes: 0 }), adopt: () => undefined },
      plan: (policy) => Promise.resolve(plans[policy] && plan({ policy, ...plans[policy] })),
      accounts: [],
      links: [],
      version: '0',
      startedAt: NOW,
    },
    { socketPath: join(folder, 'opsd.db.sock') },
  );
  onTestFinished(() => server.close());
  return server.address;
}

describe('opsd plan', () => {
  test('shows what would be done, and that nothing was', async () => {
    const socket = await daemon({ 'resume-billing': {} });
    const { code, stdout, stderr } = await opsd(['plan', 'resume-billing', '--socket', socket]);
    expect(stderr).toBe('');
    expect(code).toBe(2);
    expect(stdout)
      .toBe(`Plan 9f3c2a  resume-billing (policies/billing.yaml:3)  production  nothing has been done; a resumed run cannot be cancelled
Read      workflow DLQ complete: 20 pages, 1,241 for the filter; echo check 1,241/1,241; clock skew 0.4 s
Chosen    1,241
          −    12  where     the expression is false
          −     7  attempts  3 of 3
          = 1,222 matched: 2 now, 1,220 in later runs
Caps      hour 64 of 2,000   engine day 88 of 20,000
   dlqId        run      failed     cause          attempt  labels
   dlq-8812-01  wfr_k2f  1h30m ago  transient 503  1        billing, tenant:14
   dlq-8812-02  wfr_k2f  1h30m ago  transient 503  3
`);
  });

  test.each([
    ['nothing', NOTHING, 0],
    ['changes', {}, 2],
    ['held', HELD, 3],
    ['aborted', ABORTED, 4],
  ] as const)('a plan with %s exits accordingly', async (_state, given, code) => {
    const socket = await daemon({ p: given });
    expect((await opsd(['plan', 'p', '--socket', socket])).code).toBe(code);
    const json = await opsd(['plan', 'p', '--socket', socket, '-o', 'json']);
    expect(json).toMatchObject({ code, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({ plans: [plan({ policy: 'p', ...given })] });
    const yaml = await opsd(['plan', 'p', '--socket', socket, '-o', 'yaml']);
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  test('of several policies exits with the highest; without a name it asks for all', async () => {
    const socket = await daemon({ a: NOTHING, b: HELD, c: {} });
    const all = await opsd(['plan', '--socket', socket, '-o', 'json']);
    expect(all.code).toBe(3);
    const { plans } = JSON.parse(all.stdout) as { plans: Plan[] };
    expect(plans.map(({ policy }) => policy)).toEqual(['a', 'b', 'c']);
    expect((await opsd(['plan', 'a', 'c', 'a', '--socket', socket])).code).toBe(2);
    const none = await opsd(['plan', '--socket', await daemon({})]);
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'The daemon has no policies.\n' });
  });

  test('an unknown policy is an error that names the known ones', async () => {
    const socket = await daemon({ 'resume-billing': {} });
    const { code, stdout, stderr } = await opsd(['plan', 'resume-biling', '--socket', socket]);
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(
      'opsd: the daemon refused: There is no policy named resume-biling. Policies: resume-billing.\n',
    );
  });

  test('finds the socket beside the store of the configuration, secrets unread', async () => {
    const folder = tempDir();
    const config = join(folder, 'config.yaml');
    mkdirSync(join(folder, 'state'));
    writeFileSync(
      config,
      'storage: { sqlite: { path: ./state/opsd.db } }\naccounts: [{ name: a, url: "https://a.example", tokenFile: /nonexistent }]\n',
    );
    await daemon({ p: {} }, join(folder, 'state'));
    expect((await opsd(['plan', 'p', '--config', config])).code).toBe(2);
    expect((await opsd(['plan', 'p'], { env: { OPSD_CONFIG: config } })).code).toBe(2);
  });

  test('a bad configuration is shown', async () => {
    const config = join(tempDir(), 'config.yaml');
    writeFileSync(config, 'acounts: []\n');
    const { code, stderr } = await opsd(['plan', 'p', '--config', config]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${config}:1:1:`);
  });
});

describe('without a daemon', () => {
  test('that listens, it says where it looked and what to do', async () => {
    const socket = join(tempDir(), 'no.sock');
    const { code, stderr } = await opsd(['plan', 'p', '--socket', socket]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `opsd: no daemon listens on ${socket}. Start it with opsd run, or name its configuration with --config or its socket with --socket.\n`,
    );
  });

  async function impostor(answer: RequestListener): Promise<{ server: Server; path: string }> {
    const path = join(tempDir(), 's');
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return { server, path };
  }

  test.each([
    ['no JSON', 'hello', 'is not opsd: it did not answer with JSON'],
    ['no plan', '{"ok": true}', 'did not answer with a plan'],
    ['half a plan', '{"state": "changes"}', 'did not answer with a plan'],
  ])('but something that answers with %s', async (_what, body, message) => {
    const { path } = await impostor((_request, response) => void response.end(body));
    const { code, stderr } = await opsd(['plan', 'p', '--socket', path]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  test('that lives long enough', async () => {
    const { path } = await impostor((request) => void request.socket.destroy());
    const { code, stderr } = await opsd(['plan', 'p', '--socket', path]);
    expect(code).toBe(1);
    expect(stderr).toContain(`the daemon on ${path} did not answer`);
  });

  test('that this user may ask', async () => {
    const { path } = await impostor((_request, response) => void response.writeHead(404).end());
    await opsd(['plan', 'p', '--socket', path]);
    chmodSync(path, 0);
    const refused = await unprivileged(() => opsd(['plan', 'p', '--socket', path]));
    expect(refused.stderr).toContain('run the command as the user of the daemon');
  });

  test('that answers in time: Ctrl-C ends the waiting', async () => {
    let asked = false;
    const { path } = await impostor(() => (asked = true));
    const world = terminal();
    const ended = runCli(['plan', 'p', '--socket', path], world.io, world.programs);
    await until({ what: 'the daemon was asked' }, () => asked);
    world.stop();
    expect(await ended).toBe(1);
    expect(world.stderr).toBe('opsd: stopped by SIGINT\n');
  });
});

describe('the text of a plan', () => {
  const text = (overrides: Partial<Plan>): string => planText(plan(overrides), { color: false });

  test('says which guard holds it, and why', () => {
    expect(text(HELD)).toContain('\nHeld      quota  429 within 10 min\n');
    expect(text(ABORTED)).toContain('\nAborted   complete_read  page 3 failed\n');
  });

  test('says when a run would not act', () => {
    expect(text({ effectiveMode: 'audit' })).toContain('\nMode      audit (written as enforce): a run would not act\n');
    expect(text({ mode: 'approve', effectiveMode: 'approve' })).toContain('\nMode      approve: a run would not act\n');
  });

  test('a plan for which nothing was read has no sums', () => {
    const read = { pages: 0, entries: 0, complete: false, echoChecked: 0 };
    expect(text({ ...HELD, ...NOTHING, state: 'held', read, caps: [] })).toBe(
      'Plan 9f3c2a  resume-billing (policies/billing.yaml:3)  production  nothing has been done\nRead      nothing was read\nHeld      quota  429 within 10 min\n',
    );
  });

  test('counts what it does not list', () => {
    const chosen = Array.from({ length: 120 }, (_, index) => proposal({ dlqId: `dlq-${index}` }));
    const shown = text({ chosen });
    expect(shown.match(/^ {3}dlq-/gm)).toHaveLength(50);
    expect(shown).toContain('… and 70 more; all of them with -o json');
  });

  test('obeys nothing that others wrote', () => {
    const hostile = 'x\u001B[2J\u009B1m\r\n\u202Ey';
    const shown = text({
      policy: hostile,
      source: hostile,
      account: hostile,
      chosen: [proposal({ dlqId: hostile, workflowRunId: hostile, labels: [hostile], cause: hostile })],
      skipped: [{ guard: hostile, reason: hostile, count: 1 }],
      ...HELD,
      stopped: { guard: hostile, reason: hostile },
    });
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(shown.split('\n')).toHaveLength(text(HELD).split('\n').length - 2);
  });
});

describe('opsd unpause', () => {
  test('lifts what the daemon paused, for a reason', async () => {
    lifted.length = 0;
    const socket = await daemon({});
    const { code, stdout } = await opsd(['unpause', '--reason', 'spoke to the service', '--socket', socket]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Lifted 1 pause.\n' });
    expect(lifted).toEqual(['spoke to the service']);
  });

  test('needs a reason', async () => {
    const { code, stderr } = await opsd(['unpause', '--socket', 'nowhere']);
    expect(code).toBe(64);
    expect(stderr).toContain('--reason is needed');
  });
});
