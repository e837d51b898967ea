/** The search field: what it understands, where it leads, and what it says otherwise. */
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { deadLetter, run } from '../../observe/incidents/planted.ts';
import { action, ask, incident, incidents, ledger, NOW, serving, storedPlan, world } from '../http/world.ts';
import { LiveReads } from '#operate/api/live-reads.ts';

const FAILED: LogEntry = {
  messageId: 'msg_mail',
  time: NOW - 9_000,
  state: 'ERROR',
  url: 'https://mail.example/send',
  labels: ['mail'],
  responseStatus: 429,
};

async function search() {
  const place = 'billing.example/flows/invoice';
  const incidentsOf = [
    incident({ id: '3f2a91bc0d', place, reason: 'HTTP 503: the ledger is not available' }),
    incident({ id: '77aabb0011', place, reason: 'HTTP 503: the desk does not answer', state: 'resolved' }),
  ];
  const requests: string[] = [];
  const deps = world({
    accounts: [{ name: 'production' }],
    incidents: incidents({
      all: () => incidentsOf,
      find: (id) => incidentsOf.find((one) => one.id === id),
      deadLetters: () => [
        deadLetter({ dlqId: 'm-1', messageId: 'msg_dead', url: 'https://crm.example/x', status: 400 }),
      ],
    }),
    ledger: ledger({
      storedPlan: async (id) => (id === '9f3c2a' ? storedPlan() : undefined),
      action: async (id) => (id === 503 ? action({ id }) : undefined),
    }),
    failures: () => [FAILED],
    liveReads: new LiveReads({
      clock: world().clock,
      messageApi: () => {
        requests.push('asked');
        return undefined;
      },
      usage: () => undefined,
    }),
  });
  deps.register('workflowDlq');
  deps.publish('workflowDlq', [
    run({ dlqId: 'd-1', workflowRunId: 'wfr_1', labels: ['billing'], responseStatus: 503 }),
    run({ dlqId: 'd-2', workflowRunId: 'wfr_2', workflowUrl: 'https://billing.example/flows/invoice' }),
  ]);
  const { address } = await serving(deps);
  const find = async (text: string) => {
    const {
      status,
      headers,
      text: page,
    } = await ask(address, `/search?q=${encodeURIComponent(text)}`, {
      headers: { accept: 'text/html' },
    });
    return { status, location: headers.location, page: page.replaceAll(/\s+/g, ' ') };
  };
  return { find, requests };
}

describe('one hit leads there', () => {
  test.each([
    ['3f2a91bc0d', '/incidents/3f2a91bc0d'],
    ['  3f2a91bc0d\n', '/incidents/3f2a91bc0d'],
    ['9f3c2a', '/plans/9f3c2a'],
    ['d-1', '/dead-letters/d-1?account=production'],
    ['wfr_1', '/messages/wfr_1?account=production'],
    ['msg_dead', '/messages/msg_dead?account=production'],
    ['msg_mail', '/messages/msg_mail?account=production'],
    // Not in memory: its page reads the log.
    ['msg_elsewhere', '/messages/msg_elsewhere'],
    ['wfr_elsewhere', '/messages/wfr_elsewhere'],
    ['billing', '/dead-letters?label=billing'],
    ['crm.example', '/dead-letters?url=crm.example'],
    ['https://crm.example/', '/dead-letters?url=https%3A%2F%2Fcrm.example%2F'],
    ['mail.example', '/messages?url=mail.example'],
    ['mail', '/messages?label=mail'],
    ['429', '/messages?responseStatus=429'],
    ['400', '/dead-letters?responseStatus=400'],
  ])('%j', async (text, path) => {
    const { find, requests } = await search();
    const { status, location, page } = await find(text);
    expect([status, location], page).toEqual([303, path]);
    expect(requests).toEqual([]);
  });
});

test('a host lists its open incidents and its dead letters', async () => {
  const { find } = await search();
  const { status, page } = await find('billing.example');
  expect(status).toBe(200);
  expect(page).toContain('href="/incidents/3f2a91bc0d"');
  expect(page).toContain('the ledger is not available');
  expect(page).not.toContain('77aabb0011');
  expect(page).toContain('<a href="/dead-letters?url=billing.example">1 dead letter</a>');
});

test('a class of statuses lists incidents, dead letters and recent failures; a number may be an action, too', async () => {
  const { find } = await search();
  const { page } = await find('5xx');
  expect(page).toContain('/incidents/3f2a91bc0d');
  expect(page).toContain('href="/dead-letters?responseStatus=5xx"');
  const both = (await find('503')).page;
  expect(both).toContain('href="/dead-letters?responseStatus=503"');
  expect(both).toContain('action 503');
  expect((await find('4XX')).page).toContain('href="/messages?responseStatus=4XX"');
});

test.each([
  '',
  'nothing of this',
  '//evil.example',
  'javascript:alert(1)',
  '\\\\evil',
  '<script>alert(1)</script>',
  'x'.repeat(4_000),
  '%00\u202e',
  '__proto__',
])('%s: says what it understands, and leads nowhere', async (text) => {
  const { find, requests } = await search();
  const { status, location, page } = await find(text);
  expect([status, location]).toEqual([200, undefined]);
  expect(page).toContain('The search understands');
  expect(page).not.toContain('<script>alert');
  for (const [, href] of page.matchAll(/<a [^>]*href="([^"]*)"/g)) expect(href).toMatch(/^(?:\/(?!\/)|#)/);
  expect(requests).toEqual([]);
});

test('with nothing found, it offers the searches that read the service or the audit log', async () => {
  const { find } = await search();
  const { page } = await find('other.example');
  expect(page).toContain('href="/messages?url=other.example"');
  expect(page).toContain('href="/audit?q=other.example"');
});
