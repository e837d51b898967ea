/** `opsd plan` against a real server on a real unix socket. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '#cli/cli.ts';
import type { Plan } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { PlanRequest } from '#automate/ledger/commands.ts';
import { engine, NOW, proposal, serving, world } from '../operate/http/world.ts';
import { tempDir } from '../support/temp-dir.ts';
import { unprivileged } from '../support/unprivileged.ts';
import { until } from '../support/until.ts';
import { opsd, terminal } from './terminal.ts';
import { planOf } from '../support/ledger-facts.ts';
import { LOCAL_USER } from '../support/local-user.ts';

function plan(overrides: Partial<Plan> = {}): Plan {
  return planOf({
    at: NOW,
    trigger: { kind: 'hand' },
    read: { pages: 20, entries: 1_241, complete: true, filterChecked: 1_241, population: 1_912, clockSkewMs: -400 },
    matched: 1_229,
    chosen: [
      proposal({ dlqId: 'dlq-8812-01', failedAt: NOW - 5_400_000, labels: ['billing', 'tenant:14'] }),
      proposal({ dlqId: 'dlq-8812-02', failedAt: NOW - 5_400_000, attempt: 3, labels: [] }),
    ],
    backlog: 1_220,
    skipped: [
      { guard: 'where', reason: 'the expression is false', count: 12 },
      { guard: 'attempts', reason: '3 of 3', count: 7 },
    ],
    caps: [
      { scope: 'policy', window: 'hour', used: 64, limit: 2_000 },
      { scope: 'engine', window: 'day', used: 88, limit: 20_000 },
    ],
    ...overrides,
  });
}

const HELD: Partial<Plan> = { state: 'held', stopped: { guard: 'quota', reason: '429 within 10 min' } };
const ABORTED: Partial<Plan> = { state: 'aborted', stopped: { guard: 'incomplete_read', reason: 'page 3 failed' } };
const NOTHING: Partial<Plan> = { state: 'nothing_to_do', chosen: [], matched: 0, backlog: 0, skipped: [] };

/**
 * Starts a daemon with these plans, by the name of the policy.
 *
 * @returns the path of its socket
 */
async function daemon(plans: Readonly<Record<string, Partial<Plan>>>, folder = tempDir()): Promise<string> {
  const names = Object.keys(plans);
  const { address } = await serving(
    world({
      policies: async () => names.map(policyStatus),
      engine: engine({
        plan: (policy, request) => {
          asked.push(request);
          const given = plans[policy];
          const message = `There is no policy named ${policy}. Policies: ${names.join(', ')}.`;
          return Promise.resolve(
            given === undefined
              ? { ok: false, code: 'unknown_policy', message }
              : { ok: true, plan: request.keep ? plan({ policy, ...given }) : unkept(plan({ policy, ...given })) },
          );
        },
      }),
    }),
    { socketPath: join(folder, 'opsd.db.sock') },
  );
  return address;
}

/** Requests to the engine. */
function unkept({ id: _id, ...plan }: Plan): Plan {
  return plan;
}

const asked: PlanRequest[] = [];

function policyStatus(name: string): PolicyStatus {
  const of = { account: 'a', action: 'workflow-dlq.resume', source: 's', schedule: 'every 5m', campaigns: [] } as const;
  return { name, ...of, mode: 'audit', effectiveMode: 'audit' };
}

describe('opsd plan', () => {
  test('shows what would be done, and that nothing was', async () => {
    const socket = await daemon({ 'resume-billing': {} });
    const { code, stdout, stderr } = await opsd(['plan', 'resume-billing', '--socket', socket]);
    expect(stderr).toBe('');
    expect(code).toBe(2);
    expect(stdout)
      .toBe(`Plan      not kept  resume-billing  (policies/billing.yaml:3)  production  nothing has been done; a resumed run cannot be cancelled
Read      workflow DLQ complete: 20 pages, 1,241 for the filter of 1,912 entries; filter check 1,241/1,241; clock skew 0.4 s
Chosen    1,241
          −    12  where     the expression is false
          −     7  attempts  3 of 3
          = 1,222 allowed of 1,229 matched: 2 now, 1,220 in later runs
Caps      hour 64 of 2,000   engine day 88 of 20,000
   dlqId        run      failed            cause          try  expires  labels
   dlq-8812-01  wfr_k2f  18 Nov 09:00:00Z  transient 503  1             billing, tenant:14
   dlq-8812-02  wfr_k2f  18 Nov 09:00:00Z  transient 503  3
To apply it, keep it: opsd plan resume-billing --keep --socket ${socket}   One entry: opsd explain dlq-8812-01 --socket ${socket}
`);
    expect(asked.at(-1)).toEqual({ by: LOCAL_USER, keep: false });
  });

  test('keeps the plan only with --keep; else it has no id, and says how to keep it', async () => {
    const socket = await daemon({ 'resume-billing': {} });
    const kept = await opsd(['plan', 'resume-billing', '--keep', '--socket', socket]);
    expect(kept.stdout).toContain(`\nApply with: opsd apply 9f3c2a --socket ${socket}`);
    expect(asked.at(-1)).toEqual({ by: LOCAL_USER, keep: true });
    const shown = await opsd(['plan', 'resume-billing', '--socket', socket]);
    expect(shown.stdout).toMatch(/^Plan {6}not kept {2}resume-billing/);
    expect(shown.stdout).toContain(`\nTo apply it, keep it: opsd plan resume-billing --keep --socket ${socket} `);
    expect(asked.at(-1)).toEqual({ by: LOCAL_USER, keep: false });
  });

  test('overrules limits once, for a reason', async () => {
    const socket = await daemon({ 'resume-billing': {} });
    const command = ['plan', 'resume-billing', '--socket', socket];
    const sets = ['--set', 'limits.maxPerHour=6000', '--set', 'ramp.settle=1m'];
    const done = await opsd([...command, '--once', ...sets, '--reason', 'catch up']);
    expect(done).toMatchObject({ code: 2, stderr: '' });
    expect(asked.at(-1)).toEqual({
      by: LOCAL_USER,
      keep: false,
      overrule: { settings: { 'limits.maxPerHour': '6000', 'ramp.settle': '1m' }, reason: 'catch up' },
    });
  });

  test.each([
    ['nothing_to_do', NOTHING, 0],
    ['changes', {}, 2],
    ['held', HELD, 3],
    ['aborted', ABORTED, 4],
  ] as const)('a plan with %s exits accordingly', async (_state, given, code) => {
    const socket = await daemon({ p: given });
    expect((await opsd(['plan', 'p', '--socket', socket])).code).toBe(code);
    const json = await opsd(['plan', 'p', '--socket', socket, '-o', 'json']);
    expect(json).toMatchObject({ code, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({ plans: [unkept(plan({ policy: 'p', ...given }))] });
    const yaml = await opsd(['plan', 'p', '--socket', socket, '-o', 'yaml']);
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  });

  test('of several policies exits with the highest; without a name it plans all', async () => {
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
      'opsd: the daemon rejected the request: There is no policy named resume-biling. Policies: resume-billing.\n',
    );
  });

  test('finds the socket next to the store of the configuration, without reading secrets', async () => {
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

  test('an invalid configuration is shown', async () => {
    const config = join(tempDir(), 'config.yaml');
    writeFileSync(config, 'acounts: []\n');
    const { code, stderr } = await opsd(['plan', 'p', '--config', config]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${config}:1:1:`);
    expect(stderr).toContain('name a running daemon by its socket, next to its store: --socket PATH');
  });
});

describe('without a daemon', () => {
  test('that listens, it reports where it looked and what to do', async () => {
    const socket = join(tempDir(), 'no.sock');
    const { code, stderr } = await opsd(['plan', 'p', '--socket', socket]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `opsd: no daemon listens on ${socket}. Start the daemon, or look for its socket next to its store: the path of the store with .sock at its end.\n`,
    );
  });

  test('that listens, it advises no option that was given', async () => {
    const config = join(tempDir(), 'config.yaml');
    writeFileSync(config, 'accounts: [{ name: a, url: "http://127.0.0.1:9", token: t }]\n');
    expect((await opsd(['plan', 'p', '--config', config])).stderr).not.toContain('--config');
    expect((await opsd(['plan', 'p'], { env: { OPSD_CONFIG: config } })).stderr).toContain('--config');
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
    ['no JSON', 'hello', 'is not opsd: its response is not JSON'],
    ['no plan', '{"ok": true}', 'the response of /api/v1/plan has no state; check that it is opsd'],
    ['half a plan', '{"state": "changes"}', 'has no chosen; check that it is opsd'],
    ['a list', '[]', 'is not opsd'],
  ])('but a server that responds with %s', async (_what, body, message) => {
    const { path } = await impostor((_request, response) => void response.end(body));
    const { code, stderr } = await opsd(['plan', 'p', '--socket', path]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  test('that lives long enough', async () => {
    const { path } = await impostor((request) => void request.socket.destroy());
    const { code, stderr } = await opsd(['plan', 'p', '--socket', path]);
    expect(code).toBe(1);
    expect(stderr).toContain(`the daemon on ${path} did not respond`);
  });

  test('that this user can reach', async () => {
    const { path } = await impostor((_request, response) => void response.writeHead(404).end());
    await opsd(['plan', 'p', '--socket', path]);
    chmodSync(path, 0);
    const refused = await unprivileged(() => opsd(['plan', 'p', '--socket', path]));
    expect(refused.stderr).toContain('run the command as the daemon’s user');
  });

  test('that responds in time: Ctrl-C ends the wait', async () => {
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
