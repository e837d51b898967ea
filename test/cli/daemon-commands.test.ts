/**
 * Commands that write, against a real server: they show, ask for confirmation, and report the result in their exit
 * codes.
 */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import type { RunOutcome } from '#foundation/domain/plan.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { Secret } from '#foundation/platform/secret.ts';
import { ListenerSecurity } from '#operate/http/listener-security.ts';
import type { WebTls } from '#operate/http/tls-settings.ts';
import {
  action,
  engine,
  ledger,
  NOW,
  plan,
  RESUME_BILLING,
  serving,
  storedPlan,
  world,
  type World,
} from '../operate/http/world.ts';
import { authority } from '../support/certificates.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { opsd } from './terminal.ts';
import { LOCAL_USER } from '../support/local-user.ts';

/** Environment that npm sets in a checkout. */
const CHECKOUT = { npm_lifecycle_event: 'opsd', npm_package_name: 'msgsvc-opsd' };

/** A daemon with one plan. Its runs end as given. */
function willing(
  outcome: RunOutcome = 'acted',
  stored = storedPlan(),
): { readonly deps: World; readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const result = { outcome, matched: 183, acted: 1, backlog: 182, detail: 'x\u001B[2J' };
  const deps = world({
    policies: async () => [RESUME_BILLING],
    ledger: ledger({
      storedPlan: async (id) => (id === '9f3c2a' ? stored : undefined),
      pauses: async () => [{ scope: 'engine', reason: 'odd', at: NOW - 60_000, by: 'oncall' }],
    }),
    engine: engine({
      apply: async (...given) => (
        asked.push(['apply', ...given.slice(0, 2)]),
        { ok: true, plan: plan(), result, stored }
      ),
      approve: async (...given) => (
        asked.push(['approve', ...given]),
        { ok: true, plan: { ...stored, state: 'approved' } }
      ),
      reject: async (...given) => (
        asked.push(['reject', ...given]),
        { ok: true, plan: { ...stored, state: 'rejected' } }
      ),
      explain: (id) =>
        Promise.resolve({
          ok: true as const,
          id,
          subject: { account: 'production', in: 'workflow-dlq', dlqId: 'dlq-8812', workflowRunId: 'wfr_8' },
          policies: [
            {
              policy: 'resume-billing',
              source: 'opsd.yaml:9',
              verdict: 'left_out',
              denial: { guard: 'attempts', reason: '3 of 3' },
            },
            { policy: 'other', source: 'opsd.yaml:20', verdict: 'not_listed' },
          ],
          actions: [action({ outcome: 'failed_again', detail: 'failed again', newRunId: 'wfr_9' })],
        }),
      pause: async (pause) => void asked.push(['pause', pause]),
      unpause: async (lifted) => (asked.push(['unpause', lifted]), 1),
    }),
  });
  return { deps, asked };
}

async function socketOf(deps: World): Promise<string> {
  return (await serving(deps, { socketPath: join(tempDir(), 's') })).address;
}

describe.each(['apply', 'approve', 'reject'])('opsd %s', (decision) => {
  const person = { by: LOCAL_USER };

  test('shows the plan on stderr, asks, and applies it', async () => {
    const { deps, asked } = willing();
    const done = await opsd([decision, '9f3c2a', '--socket', await socketOf(deps)], { answers: ['y'] });
    expect(done.code).toBe(0);
    expect(done.stderr).toContain('Plan      9f3c2a  resume-billing');
    expect(done.stderr).not.toContain('Apply with');
    expect(done.stderr).toMatch(/\? \[y\/N\] $/);
    expect(done.stdout).toMatch(/^Plan 9f3c2a[: ]/);
    expect(asked).toEqual([[decision, '9f3c2a', person]]);
  });

  test.each([['n'], [''], ['yess']])('does nothing on "%s"', async (answer) => {
    const { deps, asked } = willing();
    const done = await opsd([decision, '9f3c2a', '--socket', await socketOf(deps)], { answers: [answer] });
    expect(done).toMatchObject({ code: 1, stdout: '' });
    expect(done.stderr).toContain('opsd: not confirmed; nothing was done\n');
    expect(asked).toEqual([]);
  });

  test('refuses without a terminal, unless --yes is given', async () => {
    const { deps, asked } = willing();
    const command = [decision, '9f3c2a', '--reason', 'looked', '--socket', await socketOf(deps)];
    const refused = await opsd(command);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('confirmation needs a terminal; nothing was done');
    expect(asked).toEqual([]);
    expect((await opsd([...command, '--yes'])).code).toBe(0);
    expect(asked).toEqual([[decision, '9f3c2a', { ...person, reason: 'looked' }]]);
  });

  test('of an unknown plan reports it', async () => {
    const socket = await socketOf(willing().deps);
    const { code, stderr } = await opsd([decision, 'abc', '--yes', '--socket', socket]);
    expect(code).toBe(1);
    const command = `opsd plan POLICY --keep --socket ${socket}`;
    expect(stderr).toBe(`opsd: the daemon rejected the request: Plan abc does not exist. \`${command}\` makes one.\n`);
  });
});

test.each([
  ['apply', 'applied', 'was applied already; `plan resume-billing --keep` makes a new one'],
  ['approve', 'applied', 'was applied already; `plan resume-billing --keep` makes a new one'],
  ['approve', 'approved', 'was approved already; `plan resume-billing --keep` makes a new one'],
  ['reject', 'rejected', 'was rejected already; `plan resume-billing --keep` makes a new one'],
  ['apply', 'expired', 'has expired; `plan resume-billing --keep` makes a new one'],
] as const)(
  'opsd %s of a plan that is %s says what became of it, and shows and asks nothing',
  async (decision, state, why) => {
    const { deps, asked } = willing('acted', storedPlan({ state }));
    const socket = await socketOf(deps);
    const done = await opsd([decision, '9f3c2a', '--socket', socket], { answers: ['y'], env: CHECKOUT });
    const runs = why.replace(/`(.*)`/, `\`npm run --silent opsd -- $1 --socket ${socket}\``);
    expect(done).toMatchObject({ code: 1, stdout: '', stderr: `opsd: plan 9f3c2a ${runs}\n` });
    expect(asked).toEqual([]);
  },
);

test('a command in a text of the daemon runs as printed, in any place', async () => {
  const { deps } = willing();
  const socket = await socketOf({
    ...deps,
    engine: {
      ...deps.engine,
      approve: async () => ({
        ok: false,
        code: 'expired',
        message: 'It expired. `opsd plan a` or `opsd plan b` makes one.',
      }),
    },
  });
  const { stderr } = await opsd(['approve', '9f3c2a', '--yes', '--socket', socket], { env: CHECKOUT });
  const own = (words: string): string => `\`npm run --silent opsd -- ${words} --socket ${socket}\``;
  expect(stderr).toContain(
    `the daemon rejected the request: It expired. ${own('plan a')} or ${own('plan b')} makes one.\n`,
  );
});

describe('opsd apply', () => {
  test('of a plan whose actions are all held asks for another attempt, and never for an empty one', async () => {
    const held = plan({ state: 'held', chosen: [], stopped: { guard: 'min_interval', reason: 'too soon' } });
    const { deps, asked } = willing('acted', storedPlan({ plan: held }));
    const done = await opsd(['apply', '9f3c2a', '--socket', await socketOf(deps)], { answers: ['y'] });
    expect(done.stderr).toMatch(
      /The guards allowed none of its \d+ actions? \(min_interval\)\. Check again .*\? \[y\/N\]/,
    );
    expect(done.stderr).not.toContain('resume 0 runs');
    expect(asked).toHaveLength(1);
  });

  test('of a plan without actions asks nothing', async () => {
    const { deps, asked } = willing(
      'acted',
      storedPlan({ plan: plan({ state: 'nothing_to_do', chosen: [] }), targets: [] }),
    );
    const done = await opsd(['apply', '9f3c2a', '--socket', await socketOf(deps)], { answers: ['y'] });
    expect(done.code).toBe(1);
    expect(done.stderr).toContain('opsd: plan 9f3c2a has no action, so there is nothing to apply\n');
    expect(asked).toEqual([]);
  });

  test.each([
    [{}, 'Apply: resume 1 run of production; 182 more are left for later runs? [y/N] '],
    [
      { effectiveMode: 'approve' },
      'left for later runs; this also approves all 2 actions of the plan for later runs? [y/N] ',
    ],
    [
      { needsApproval: { guard: 'tripwire', reason: 'x' } },
      'this also approves all 2 actions of the plan for later runs?',
    ],
  ] as const)('asks for everything that it allows: %j', async (overrides, question) => {
    const stored = storedPlan({ plan: plan(overrides) });
    const { deps } = willing();
    const socket = await socketOf({ ...deps, ledger: ledger({ storedPlan: async () => stored }) });
    const { stderr } = await opsd(['apply', '9f3c2a', '--socket', socket], { answers: ['n'] });
    expect(stderr).toContain(question);
  });

  test.each([
    ['acted', 0],
    ['nothing_to_do', 5],
    ['held', 3],
    ['pending_approval', 3],
    ['deferred', 3],
    ['skipped', 3],
    ['aborted', 4],
    ['incomplete', 4],
    ['halted', 4],
    ['failed', 1],
  ] as const)('a run that ended as %s exits with %i', async (outcome, code) => {
    const socket = await socketOf(willing(outcome).deps);
    const text = await opsd(['apply', '9f3c2a', '--yes', '--socket', socket]);
    expect(text.code).toBe(code);
    expect(text.stdout).toBe(
      `Plan 9f3c2a: ${outcome.replaceAll('_', ' ')} (183 matched: 1 acted on, 182 left); x\\x1b[2J\n`,
    );
    expect(text.stderr).toContain('Apply: ');
    const json = await opsd(['apply', '9f3c2a', '--yes', '--socket', socket, '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ plan: '9f3c2a', policy: 'resume-billing', result: { outcome } });
  });
});

describe('opsd deploy', () => {
  function taking(isRollback = false, policies: readonly string[] = ['resume-after-deploy']) {
    const taken: unknown[] = [];
    const deps = world({
      async deploy(report, by) {
        taken.push([report, by]);
        const { of, version } = report;
        return [{ id: 1, account: 'production', of, version, at: NOW, isRollback, policies }];
      },
    });
    return { deps, taken };
  }

  test('reports what was deployed, and shows who waits for it', async () => {
    const { deps, taken } = taking();
    const link = 'https://ci.example.com/42';
    const args = ['--of', 'app.example.com', 'https://b.example/x', '--url', link, '--account', 'production'];
    const done = await opsd(['deploy', 'v42', ...args, '--socket', await socketOf(deps)]);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(/^production: v42 of .*, 1 policy waits for it: resume-after-deploy\n$/);
    const of = ['app.example.com', 'https://b.example/x'];
    expect(taken).toEqual([[{ of, version: 'v42', url: link, account: 'production' }, LOCAL_USER]]);
  });

  test.each([
    [true, [], /v42 of .*, a roll-back: nothing is repaired because of it/],
    [false, [], /v42 of .*, no policy waits for it/],
  ])('says what follows: roll-back %s', async (isRollback, policies, expected) => {
    const { deps, taken } = taking(isRollback, policies);
    const done = await opsd(['deploy', 'v42', '--of', 'a.example', '--failed', '--socket', await socketOf(deps)]);
    expect(done.stdout).toMatch(expected);
    expect(taken).toEqual([[{ of: ['a.example'], version: 'v42', failed: true }, LOCAL_USER]]);
  });

  test.each([
    [['deploy', 'v42'], 'what was deployed?'],
    [['deploy', 'v42', '--of', '/api'], '/api is neither a host nor a URL prefix'],
    [['deploy'], 'deploy needs VERSION'],
  ])('%j is wrong usage', async (args, message) => {
    const done = await opsd(args);
    expect(done.code).toBe(64);
    expect(done.stderr).toContain(message);
  });
});

describe('opsd pause', () => {
  test('asks nothing, and shows how to lift it', async () => {
    const { deps, asked } = willing();
    const socket = await socketOf(deps);
    const all = await opsd(['pause', '--reason', 'odd', '--socket', socket]);
    expect(all).toEqual({
      code: 0,
      stderr: '',
      stdout: `All policies are paused. To lift it: opsd unpause --reason TEXT --socket ${socket}\n`,
    });
    const one = await opsd(['pause', '--policy', 'resume-billing', '--reason', 'odd', '--socket', socket]);
    expect(one.stdout).toBe(
      `Policy resume-billing is paused. To lift it: opsd unpause --policy resume-billing --reason TEXT --socket ${socket}\n`,
    );
    expect(asked).toEqual([
      ['pause', { reason: 'odd', by: LOCAL_USER }],
      ['pause', { reason: 'odd', by: LOCAL_USER, policy: 'resume-billing' }],
    ]);
  });

  test.each([
    ['wrong', 'storage: { sqlite: { path: opsd.db } }\nserver: { lisen: 5 }\n', {}],
    ['no YAML any more', 'accounts: [{ name: shop\n', { OPSD_STORE: 'opsd.db' }],
    [
      'silent of a variable that is not here',
      'accounts: [{ name: ${env:SHOP}, url: embedded }]',
      { OPSD_STORE: 'opsd.db' },
    ],
  ] as const)('reaches the daemon although the configuration has become invalid: %s', async (_how, text, env) => {
    const { deps, asked } = willing();
    const folder = tempDir();
    await serving(deps, { socketPath: join(folder, 'opsd.db.sock') });
    const file = join(folder, 'opsd.yaml');
    writeFileSync(file, text);
    const done = await opsd(['pause', '--reason', 'odd', '--config', file], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(done.stderr).toContain(`${file}:`);
    expect(done.stderr).toContain(`the daemon at ${join(folder, 'opsd.db.sock')} anyway.`);
    expect(asked).toEqual([['pause', { reason: 'odd', by: LOCAL_USER }]]);
  });

  test('does not check a configuration that is unchanged since the daemon opened its socket', async () => {
    const { deps, asked } = willing();
    const folder = tempDir();
    const file = join(folder, 'opsd.yaml');
    // The daemon has checked it, so a text that needs a check shows that there is none.
    writeFileSync(file, 'storage: { sqlite: { path: opsd.db } }\nserver: { lisen: 5 }\n');
    await until({ what: 'the time of a new file is later' }, () => {
      writeFileSync(join(folder, 'now'), '');
      return statSync(join(folder, 'now')).ctimeMs > statSync(file).ctimeMs;
    });
    await serving(deps, { socketPath: join(folder, 'opsd.db.sock') });
    const done = await opsd(['pause', '--reason', 'odd', '--config', file]);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(asked).toEqual([['pause', { reason: 'odd', by: LOCAL_USER }]]);
  });

  test.each([
    ['--config', (file: string) => ({ args: ['--config', file], env: { OPSD_STORE: 'opsd.db' } })],
    ['OPSD_CONFIG', (file: string) => ({ args: [], env: { OPSD_CONFIG: file } })],
  ])('sends no request to a daemon when %s names a file that does not exist', async (_how, named) => {
    const { deps, asked } = willing();
    const folder = tempDir();
    await serving(deps, { socketPath: join(folder, 'opsd.db.sock') });
    const { args, env } = named(join(folder, 'opsd.yml'));
    const { code, stderr } = await opsd(['pause', '--reason', 'odd', ...args], { env });
    expect(code).toBe(1);
    expect(stderr).toContain('help: no request was sent; name the running daemon by its socket');
    expect(asked).toEqual([]);
  });

  test('reports errors of a configuration for which no daemon runs', async () => {
    const file = join(tempDir(), 'opsd.yaml');
    writeFileSync(file, 'server: { lisen: 5 }\n');
    const { code, stderr } = await opsd(['pause', '--reason', 'odd', '--config', file]);
    expect(code).toBe(1);
    expect(stderr).toContain('unknown key');
    expect(stderr).not.toContain('all the same');
  });

  test('of an unknown policy fails', async () => {
    const { deps, asked } = willing();
    const typo = await opsd(['pause', '--policy', 'resume', '--reason', 'odd', '--socket', await socketOf(deps)]);
    expect(typo.code).toBe(1);
    expect(typo.stderr).toContain('Policies: resume-billing.');
    expect(asked).toEqual([]);
  });
});

describe('opsd unpause', () => {
  test('shows active pauses, asks, and lifts it', async () => {
    const { deps, asked } = willing();
    const command = ['unpause', '--reason', 'spoke to the service', '--socket', await socketOf(deps)];
    const done = await opsd(command, { answers: ['yes'] });
    expect(done).toMatchObject({ code: 0, stdout: 'Lifted 1 pause or halt.\n' });
    expect(done.stderr).toContain(
      'engine has been paused since 2026-11-18T10:29Z by oncall: odd\nResume actions? [y/N] ',
    );
    expect((await opsd(command)).code).toBe(1);
    expect(asked).toEqual([['unpause', { reason: 'spoke to the service', by: LOCAL_USER }]]);
  });

  test('names what still pauses, and fails', async () => {
    const stillPaused = async (): Promise<string> => '/etc/PAUSE exists; remove the file to continue';
    const socket = await socketOf(world({ engine: engine({ stillPaused }) }));
    const done = await opsd(['unpause', '--reason', 'x', '--yes', '--socket', socket]);
    expect(done.stdout).toBe(
      'No pause or halt to lift.\nStill paused: /etc/PAUSE exists; remove the file to continue\n',
    );
    expect(done.code).toBe(3);
    const json = await opsd(['unpause', '--reason', 'x', '--yes', '--socket', socket, '-o', 'json']);
    expect(JSON.parse(json.stdout)).toEqual({ lifted: 0, stillPaused: await stillPaused() });
    expect(json.code).toBe(3);
  });

  test('of a policy restarts its groups', async () => {
    const { deps, asked } = willing();
    const socket = await socketOf(deps);
    const done = await opsd(['unpause', '--policy', 'resume-billing', '--reason', 'x', '--yes', '--socket', socket]);
    expect(done.stderr).toContain('every halted group of resume-billing restarts with one entry\n');
    expect(asked).toEqual([['unpause', { reason: 'x', by: LOCAL_USER, policy: 'resume-billing' }]]);
  });
});

test('opsd explain shows why policies deny an entry, and the actions on it', async () => {
  const socket = await socketOf(willing().deps);
  const { code, stdout } = await opsd(['explain', 'dlq-8812', '--socket', socket]);
  expect(code).toBe(0);
  expect(stdout).toBe(`dlq-8812
entry dlq-8812, run wfr_8 of account production, in the workflow DLQ
  resume-billing  denies it: attempts, 3 of 3  (opsd.yaml:9)
  other           does not find it in a DLQ  (opsd.yaml:20)

TIME                  POLICY          ACTION               TARGET    OUTCOME       DETAIL
2026-11-18 10:29:00Z  resume-billing  workflow-dlq.resume  dlq-8812  failed again  new run wfr_9; failed again
`);
  const json = await opsd(['explain', 'dlq-8812', '--socket', socket, '-o', 'json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    id: 'dlq-8812',
    policies: [{ verdict: 'left_out' }, {}],
    actions: [{}],
  });
});

describe('over an address', () => {
  const TOKEN = 'canary-token-4d1e';

  async function remote(): Promise<{ url: string; asked: unknown[][]; file: string }> {
    const { deps, asked } = willing();
    const token = { name: 'oncall', role: 'admin', token: Secret.of(TOKEN) } as const;
    const { address } = await serving({ ...deps, tokens: [token] });
    const file = join(tempDir(), 'token');
    writeFileSync(file, `${TOKEN}\nolder\n`);
    return { url: address, asked, file };
  }

  test('the token comes from a file or the environment, and is never shown', async () => {
    const { url, asked, file } = await remote();
    const pause = ['pause', '--reason', 'odd'];
    const done = [
      await opsd([...pause, '--url', url, '--token-file', file]),
      await opsd(pause, { env: { OPSD_URL: url, OPSD_TOKEN: TOKEN } }),
    ];
    const refused = [
      await opsd([...pause, '--url', url]),
      await opsd(pause, { env: { OPSD_URL: url, OPSD_TOKEN: `${TOKEN}-old` } }),
      await opsd([...pause, '--url', url, '--token-file', tempDir()]),
    ];
    expect(done.map(({ code }) => code)).toEqual([0, 0]);
    expect(refused.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(asked).toEqual(Array.from({ length: 2 }, () => ['pause', { reason: 'odd', by: 'oncall' }]));
    expect(JSON.stringify([done, refused])).not.toContain(TOKEN);
  });

  test('with TLS, users and client certificates: all of it from files or the environment', async () => {
    const ca = await authority();
    const [server, client] = [await ca.issue(), await ca.issue({ use: 'client' })];
    const { deps, asked } = willing();
    const tls: WebTls = {
      cert: server.cert,
      certFile: 'server.crt',
      key: Secret.of(server.key),
      clientAuth: 'RequireAndVerifyClientCert',
      clientCa: ca.cert,
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      honorCipherOrder: true,
      notAfter: 0,
    };
    const users = new Map([['alice', Secret.of(hashSync(TOKEN, 4))]]);
    const security = new ListenerSecurity({ tls, headers: {}, users, digest: '' }, deps.clock);
    const { address } = await serving({ ...deps, security, roles: new Map([['alice', 'operator']]) });
    const folder = tempDir();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const [caFile, certFile, keyFile] = [file('ca', ca.cert), file('cert', client.cert), file('key', client.key)];
    const pause = ['pause', '--reason', 'odd', '--url', address];
    const shown = ['--cert-file', certFile, '--key-file', keyFile];
    const user = file('user', `alice:${TOKEN}\n`);
    const done = [
      await opsd([...pause, '--ca-file', caFile, ...shown, '--user-file', user]),
      await opsd(pause, {
        env: { OPSD_CA_FILE: caFile, OPSD_CERT_FILE: certFile, OPSD_KEY_FILE: keyFile, OPSD_USER: `alice:${TOKEN}` },
      }),
    ];
    expect(done.map(({ code }) => code)).toEqual([0, 0]);
    expect(asked).toEqual(Array.from({ length: 2 }, () => ['pause', { reason: 'odd', by: 'alice' }]));
    const [other, old] = [
      await ca.issue({ use: 'client' }),
      await ca.issue({ use: 'client', notBefore: new Date('2020-01-01'), notAfter: new Date('2020-02-01') }),
    ];
    const stranger = await (await authority()).issue({ use: 'client' });
    const by = (cert: string, key: string) => ['--ca-file', caFile, '--cert-file', cert, '--key-file', key];
    const [oldFile, oldKey, strangerFile, strangerKey, otherKey] = [
      file('old', old.cert),
      file('old.key', old.key),
      file('stranger', stranger.cert),
      file('stranger.key', stranger.key),
      file('other.key', other.key),
    ];
    const refused = [
      await opsd([...pause, ...shown, '--user-file', user]),
      await opsd([...pause, '--ca-file', caFile, '--user-file', user]),
      await opsd([...pause, ...by(oldFile, oldKey), '--user-file', user], { clock: systemClock }),
      await opsd([...pause, ...by(strangerFile, strangerKey), '--user-file', user]),
      await opsd([...pause, ...by(certFile, otherKey), '--user-file', user]),
      await opsd([...pause, ...by(otherKey, certFile), '--user-file', user]),
      await opsd([...pause, '--ca-file', caFile, ...shown, '--user-file', file('other', `alice:${TOKEN}-old`)]),
      await opsd([...pause, '--ca-file', caFile, ...shown, '--user-file', file('none', TOKEN)]),
      await opsd([...pause, '--ca-file', join(folder, 'no'), ...shown]),
      await opsd(['pause', '--reason', 'odd', '--url', address.replace('https:', 'http:')]),
    ];
    expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
      [1, expect.stringContaining('has no trusted issuer')],
      [
        1,
        expect.stringMatching(
          /did not respond: it closed the connection \(.*\)\. If its web configuration file demands client certificates \(client_auth_type\), add --cert-file FILE and --key-file FILE, or set OPSD_CERT_FILE and OPSD_KEY_FILE\.\n$/,
        ),
      ],
      [
        1,
        expect.stringContaining(`The client certificate in ${oldFile} expired at 2020-02-01T00:00:00.000Z: renew it.`),
      ],
      [1, expect.stringContaining(`It may reject the client certificate in ${strangerFile}: `)],
      [1, expect.stringContaining(`the key in ${otherKey} does not match the certificate in ${certFile}`)],
      [1, expect.stringContaining(`${otherKey} has no certificate in PEM form`)],
      [1, expect.stringContaining('The user or the password is wrong')],
      [1, expect.stringContaining('does not contain user:password')],
      [1, expect.stringContaining('cannot be read (ENOENT)')],
      [1, expect.stringContaining('If it uses TLS, use an address with https://.')],
    ]);
    expect(JSON.stringify([done, refused])).not.toContain(TOKEN);
    expect(JSON.stringify([done, refused])).not.toContain(
      Buffer.from(`alice:${TOKEN}`).toString('base64').slice(0, 16),
    );
  });

  test('with TLS to a plain port reports it', async () => {
    const { address } = await serving(willing().deps);
    const { code, stderr } = await opsd(['pause', '--reason', 'x', '--url', address.replace('http:', 'https:')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^opsd: the daemon on .* did not respond: it does not use TLS; use an address with http:\/\/\.\n$/,
    );
  });

  test('where nothing listens reports it', async () => {
    const { stderr } = await opsd(['pause', '--reason', 'x', '--url', 'http://127.0.0.1:1']);
    expect(stderr).toContain(
      'opsd: no daemon listens on http://127.0.0.1:1. Check that it is the address of server.listen',
    );
  });
});
