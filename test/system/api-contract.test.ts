/** The API's document against the responses of a real daemon over the emulator, from the first read to an applied plan. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ApiDocument } from '#operate/contract/document.ts';
import { documentProblems } from '../support/api-document.ts';
import { daemonConfig, daemonWorld, managementAt, QUICK, resumeBilling } from '../support/daemon-world.ts';
import { publish } from '../support/service.ts';
import { until } from '../support/until.ts';
import { ask } from '../operate/http/world.ts';

test('every operation answers as the document says', async () => {
  const world = await daemonWorld();
  const { url } = world.proxy;
  await world.start(
    daemonConfig(url, {
      account: {
        managementApi: managementAt(url),
        client: QUICK.client,
        flowControlKeys: ['emails'],
        budget: { knownUsd: 100, assertedOn: '2026-11-01' },
        collectors: {
          logs: { every: '1s', lag: '1s', dimension: 'label' },
          workflowDlq: { every: '1s', full: '10s' },
          flowControl: { every: '1s' },
        },
      },
      policies: [resumeBilling({ mode: 'approve' })],
    }),
  );
  const socket = join(world.folder, 'opsd.db.sock');
  const document = JSON.parse((await ask(socket, '/api/v1/openapi.json')).text) as ApiDocument;
  const seen = new Set<string>();
  const wrong: string[] = [];

  /** Sends a request, and compares the response with the document. */
  async function call(method: 'GET' | 'POST', path: string, body?: object) {
    const options = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const { status, text } = await ask(socket, path, options);
    wrong.push(...documentProblems(document, { method, path, status, body: text }).map((line) => `${path}: ${line}`));
    if (status === 200) seen.add(`${method} ${path.split('?')[0]}`);
    return { status, data: JSON.parse(text) as Record<string, unknown> };
  }
  const get = async (path: string) => (await call('GET', `/api/v1/${path}`)).data;
  const post = async (path: string, body: object) => (await call('POST', `/api/v1/${path}`, body)).data;
  const first = (data: Record<string, unknown>, key: string, field = 'id') =>
    String((data[key] as Record<string, unknown>[])[0]![field]);

  const messageId = await publish(world.service, `${world.destination.url}/hook`, {
    'Svc-Retries': '1',
    'Svc-Label': 'billing',
    'Svc-Flow-Control-Key': 'emails',
    'Svc-Flow-Control-Value': 'parallelism=1',
  });
  await world.failRuns(3, 'billing');
  await until(
    { what: 'the daemon has read the failed runs and grouped them' },
    async () =>
      (await get('dead-letters'))['total'] === 3 && ((await get('incidents'))['incidents'] as unknown[]).length > 0,
  );
  // Lists with a row each: an empty list would match any schema.
  await until({ what: 'every list has a row' }, async () => {
    const { accounts } = (await get('spend')) as { readonly accounts: readonly { readonly readAt?: number }[] };
    const lists = [(await get('flow-control'))['keys'], (await get('messages?state=ERROR'))['messages']];
    return accounts[0]!.readAt !== undefined && lists.every((list) => (list as unknown[]).length > 0);
  });
  const dlqId = first(await get('dead-letters?queue=workflow&limit=1'), 'deadLetters');
  const incident = first(await get('incidents?state=open'), 'incidents');

  for (const path of [
    'openapi.json',
    'status',
    'sources',
    'policies',
    'policies/resume-billing',
    'conditions',
    'labels',
    'runs?policy=resume-billing',
    'flow-control',
    'canaries',
    'spend?account=production',
    'history?account=production&span=1h',
    'configuration',
    'audit/head',
    'audit?limit=2',
    'audit/verify',
    'messages?state=ERROR&limit=10',
    `messages/${messageId}`,
    `messages/${dlqId}`,
    `incidents/${incident}`,
    `dead-letters/${dlqId}?body=true`,
  ]) {
    await get(path);
  }
  await post('snooze', { incident, until: 'deploy', note: 'fixed by v42' });
  await post('acknowledge', { incident, note: 'known' });
  await post('deploys', { of: ['other.example.com'], version: 'v42', url: 'https://ci.example.com/42' });
  await post('explain', { id: dlqId });
  const letters = (await get('dead-letters?queue=workflow'))['deadLetters'] as readonly { readonly id: string }[];
  const another = letters[2]!.id;
  await post('retrigger', { id: another, confirm: another, reason: 'why', body: 'e30=' });
  await get(`dead-letters/${another}`);

  // A policy's plan, and two manual ones: one applied, one cancelled.
  const made = await post('plan', { policy: 'resume-billing', keep: true });
  await get(`plans/${String(made['id'])}`);
  await post('reject', { plan: made['id'], reason: 'not now' });
  const selection = { action: 'resume', ids: [dlqId] };
  const manual = await post('plan', { selection, reason: 'try one' });
  await post('apply', { plan: manual['id'], reason: 'go' });
  await get(`plans/${String(manual['id'])}`);
  await get('plans?state=applied&state=approved&state=rejected');
  const action = first(await get('actions'), 'actions');
  await get(`actions/${action}`);
  await get(`messages/${dlqId}`);
  const other = await post('plan', { selection: { action: 'resume', label: ['billing'] }, reason: 'the rest' });
  await post('cancel', { plan: other['id'], reason: 'stop' });
  // Another run may replace the plan before its approval.
  await until({ what: 'a plan of the policy is approved' }, async () => {
    const [plan] = (await get('plans?state=pending'))['plans'] as readonly { readonly id: string }[];
    if (plan === undefined) return undefined;
    const { status } = await call('POST', '/api/v1/approve', { plan: plan.id, reason: 'go' });
    return status === 200;
  });

  await post('pause', { reason: 'maintenance' });
  await post('unpause', { reason: 'done' });
  await post('state/adopt', { reason: 'test' });
  await post('state/reset-counter', { account: 'production', metric: 'msgsvc_log_events_total', reason: 'ruined' });
  await post('state/backup', { file: join(world.folder, 'copy.db') });
  await call('POST', '/-/reload');
  await post('operations/get-flow-control', { flowControlKey: 'emails' });

  // Errors have their form as well.
  for (const path of ['plans/x', 'policies/x', 'actions/0', 'messages/x', 'dead-letters/x', 'incidents/x', 'nothing']) {
    await call('GET', `/api/v1/${path}`);
  }
  await call('GET', '/api/v1/audit?cursor=x');
  await call('POST', '/api/v1/apply', { plan: 'x' });
  await call('POST', '/api/v1/plan', { selection: { action: 'delete' }, reason: 'all' });

  expect(wrong.filter((line) => !line.includes('/api/v1/nothing'))).toEqual([]);
  const answered = (path: string, method: string) =>
    [...seen].some((one) => new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(one));
  const silent = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => !answered(path, method))
      .map((method) => `${method} ${path}`),
  );
  expect(silent).toEqual([]);
});
