/** Conditions as alerts: active ones are sent repeatedly, each end until it is accepted, and equally after a restart. */
import { expect, test } from 'vitest';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { until } from '../../support/until.ts';
import { came, notificationWorld, receiverWorld } from './world.ts';

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
}

function posts(sink: HttpSink): Alert[][] {
  return sink.requests.map((request) => JSON.parse(request.body.toString('utf8')) as Alert[]);
}

test('an alert has its own labels and a future end, and is sent again while it is active', async () => {
  const sink = await httpSink();
  const { start, tell, pass } = notificationWorld();
  await start({ alertmanager: { url: `${sink.url}/am/`, labels: { cluster: 'eu' } } });
  tell();
  await came(sink, 1);
  expect(sink.requests[0]!.url).toBe('/am/api/v2/alerts');
  const alert = {
    labels: {
      cluster: 'eu',
      alertname: 'OpsdHeld',
      severity: 'warning',
      condition: 'held/resume-billing',
      policy: 'resume-billing',
      account: 'production',
      owner: 'payments',
    },
    annotations: { summary: 'quota holds resume-billing', description: 'The account answered 429.', guard: 'quota' },
    startsAt: '2026-11-18T10:30:00.000Z',
    endsAt: '2026-11-18T10:34:00.000Z',
  };
  expect(posts(sink)[0]).toEqual([alert]);
  await pass(60_000);
  await came(sink, 2);
  expect(posts(sink)[1]).toEqual([{ ...alert, endsAt: '2026-11-18T10:35:00.000Z' }]);
});

test('a hold that passes from one guard to another stays one alert, and ends as one', async () => {
  const { sink, tell } = await receiverWorld('alertmanager');
  tell();
  await came(sink, 1);
  tell({ guard: 'clock', summary: 'clock holds resume-billing' });
  await came(sink, 2);
  tell({ isResolved: true });
  await came(sink, 3);
  const [first, second, third] = posts(sink).map(([alert]) => alert!);
  expect([second!.labels, third!.labels]).toEqual([first!.labels, first!.labels]);
  expect(second!.annotations).toMatchObject({ guard: 'clock' });
});

test('an end is sent with its time until it is accepted, and then nothing', async () => {
  const { sink, tell, clock, store, turn, pass } = await receiverWorld('alertmanager');
  tell();
  tell({ key: 'other' });
  await came(sink, 1);
  sink.answerWith((_request, response) => void response.writeHead(503).end());
  tell({ isResolved: true });
  await came(sink, 2);
  sink.answerWith((_request, response) => void response.end());
  await pass(1_000);
  await came(sink, 3);
  const ends = posts(sink).map((alerts) => alerts.map(({ endsAt }) => endsAt.slice(11, 19)));
  expect(ends).toEqual([
    ['10:34:00', '10:34:00'],
    ['10:30:00', '10:34:00'],
    ['10:30:00', '10:34:01'],
  ]);
  await until({ what: 'the wait' }, () => clock.nextIn === 60_000);
  await turn();
  expect((await store.load()).notifications.map(({ notification }) => notification.key)).toEqual(['other']);
  tell({ key: 'other', isResolved: true });
  await came(sink, 4);
  expect(posts(sink)[3]).toHaveLength(1);
  await until({ what: 'the wait' }, () => clock.nextIn === 60_000);
  await clock.advance(180_000);
  expect(sink.requests).toHaveLength(4);
});

test('active and resolved conditions survive a restart', async () => {
  const sink = await httpSink();
  const world = notificationWorld();
  const before = await world.start({ alertmanager: { url: sink.url } });
  world.tell();
  world.tell({ key: 'stands' });
  await came(sink, 1);
  sink.answerWith((_request, response) => void response.writeHead(503).end());
  world.tell({ isResolved: true });
  await came(sink, 2);
  await before[Symbol.asyncDispose]();
  sink.answerWith((_request, response) => void response.end());
  await world.start({ alertmanager: { url: sink.url } });
  await came(sink, 3);
  expect(posts(sink)[2]!.map(({ labels, endsAt }) => `${labels['condition']} ${endsAt.slice(11, 19)}`)).toEqual([
    'held/resume-billing 10:30:00',
    'stands 10:34:00',
  ]);
});

test('a condition that restarts before its end was accepted is active', async () => {
  const { sink, notifier, tell, pass } = await receiverWorld('alertmanager', 503);
  tell();
  await came(sink, 1);
  tell({ isResolved: true });
  tell();
  sink.answerWith((_request, response) => void response.end());
  await pass(1_000);
  await came(sink, 2);
  expect(posts(sink)[1]).toMatchObject([{ endsAt: '2026-11-18T10:34:01.000Z' }]);
  expect(notifier.activeConditions()).toHaveLength(1);
});

test('an end that is never accepted is dropped after an hour: by then the alert has ended by itself', async () => {
  const { sink, tell, clock, store, turn } = await receiverWorld('alertmanager');
  tell();
  await came(sink, 1);
  sink.answerWith((_request, response) => void response.writeHead(503).end());
  tell({ isResolved: true });
  await came(sink, 2);
  expect((await store.load()).notifications).toHaveLength(1);
  clock.jump(3_600_001);
  await until({ what: 'it is forgotten' }, async () => {
    await clock.advance(60_000);
    await turn();
    return (await store.load()).notifications.length === 0;
  });
  expect((await store.load()).notifications).toEqual([]);
});

test('a condition of severity info is not an alert before it has lasted', async () => {
  const sink = await httpSink();
  const { start, tell, pass } = notificationWorld();
  await start({ alertmanager: { url: sink.url }, infoAfter: '30s' });
  tell({ severity: 'info' });
  tell({ key: 'other' });
  await came(sink, 1);
  expect(posts(sink)[0]).toMatchObject([{ labels: { condition: 'other' } }]);
  await pass(30_000);
  await came(sink, 2);
  expect(posts(sink)[1]).toHaveLength(2);
});

test.each([
  ['300', 300_000],
  ['0', 1_000],
])('a requested wait of %s s is kept, also above the interval', async (wait, ms) => {
  const { sink, tell, clock } = await receiverWorld('alertmanager', 429, { 'Retry-After': wait });
  tell();
  await came(sink, 1);
  await until({ what: 'the wait' }, () => clock.nextIn === ms);
  expect(sink.requests).toHaveLength(1);
});
