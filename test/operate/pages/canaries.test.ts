/** The page of canaries: who must act, the messages with their phases, and what verdicts mean. */
import { expect, test } from 'vitest';
import { CANARY_VERDICTS, type CanaryState } from '#foundation/domain/canary.ts';
import { allCanaries, canaryRound, canaryState } from '../../support/canaries.ts';
import { ask, NOW, serving, world } from '../http/world.ts';

const ACCOUNTS = [{ name: 'production' }];

async function page(states: readonly CanaryState[], path = '/canaries'): Promise<string> {
  const { address } = await serving(world({ accounts: ACCOUNTS, canaries: { states: () => states } }));
  const { status, text } = await ask(address, path);
  expect(status).toBe(200);
  return text;
}

/** Rows of tables as texts, without markup. */
function rowsOf(markup: string): string[] {
  const rows = [...markup.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) => row!.replaceAll(/<[^>]+>/g, ' '));
  return rows.map((row) => row.replaceAll(/\s+/g, ' ').trim());
}

test('without a canary the page explains what one does, and what every verdict means', async () => {
  const markup = await page([]);
  expect(markup).toContain('No canary is configured.');
  const rows = rowsOf(markup);
  for (const verdict of CANARY_VERDICTS) expect(rows.filter((row) => row.startsWith(`${verdict} `))).toHaveLength(1);
});

test('a failing canary comes first with its reason and the next step, and its messages are unfolded', async () => {
  const markup = await page(allCanaries(NOW, (plain) => plain));
  const [, first, second, third] = rowsOf(markup);
  expect(first).toMatch(
    /^flow-control-billing production flow-control key billing service since 3 min the service accepted the message, but its log shows no attempt after 60 s Report it to the provider/,
  );
  expect(first).toMatch(/1 in flight$/);
  expect(second).toMatch(/^home production directly ok /);
  expect(third).toMatch(/^queue production queue mails unknown since/);
  const unfolded = [...markup.matchAll(/<details class="more" open>\s*<summary>(.*?)<\/summary>/g)];
  expect(unfolded.map(([, summary]) => summary)).toEqual(['Last messages of flow-control-billing (production)']);
});

test('a message shows each known phase from its publish request, and what is special', async () => {
  const rows = rowsOf(await page(allCanaries(NOW, (plain) => plain)));
  const [flying, failed, twice, warm] = rows.slice(5, 9);
  expect(flying).toMatch(/in flight for 8 s – 100 ms – – – – /);
  expect(failed).toMatch(/ service the service accepted .* after 60 s 100 ms – – – – /);
  expect(twice).toMatch(
    / service the message arrived twice 41 ms 3\.0 s 180 ms and 1 time again 320 ms 3\.0 s 65,536 B/,
  );
  expect(warm).toContain('warm-up: does not count');
});

test('a message leads to its timeline, and at most ten are shown', async () => {
  const rounds = Array.from({ length: 30 }, (_, index) =>
    canaryRound(NOW - index * 60_000, { messageId: `msg/${index}` }),
  );
  const markup = await page([canaryState(NOW, { rounds })]);
  expect(markup).toContain('href="/messages/msg%2F0?account=production"');
  expect(markup.match(/href="\/messages\/msg/g)).toHaveLength(10);
});

test('the first page has the problem, with a link to the row', async () => {
  const states = [canaryState(NOW, { canary: 'a.b', verdict: 'network', reason: 'the service cannot connect' })];
  const markup = await page(states, '/');
  expect(markup).toContain('has failed for 1 h (network)');
  expect(markup).toContain('the service cannot connect');
  const [, anchor] = /href="\/canaries#([^"]+)"/.exec(markup)!;
  expect(await page(states)).toContain(`id="${decodeURIComponent(anchor!)}"`);
});

test.each(['/canaries', '/flow-control', '/spend'])(
  '%s of an unknown account is no page without data',
  async (path) => {
    const { address } = await serving(world({ accounts: ACCOUNTS }));
    expect((await ask(address, `${path}?account=other`)).status).toBe(404);
    expect((await ask(address, `${path}?account=`)).status).toBe(200);
  },
);
