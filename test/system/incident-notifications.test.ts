/** An incident through the whole daemon: one notification, also across a kill -9, acknowledged, and resolved. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addressOf, daemonWorld, repairConfig } from '../support/daemon-world.ts';
import { httpSink } from '../support/http-sink.ts';
import { opsd } from '../support/program.ts';
import { failedRuns, removeRuns } from '../support/service.ts';
import { until } from '../support/until.ts';

interface Incidents {
  readonly incidents: readonly {
    readonly id: string;
    readonly state: string;
    readonly members: { now: number; ever: number };
  }[];
}

interface Notified {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly detail?: string;
}

test('an incident is notified once, survives a kill, is acknowledged, and ends', async () => {
  const world = await daemonWorld();
  const webhook = await httpSink((_request, response) => void response.writeHead(200).end());
  const config = `${repairConfig(world, { mode: 'off', every: '1m' })}
notifications: { webhook: { url: "${webhook.url}/notify" } }
`.replace('server: {', 'server: { externalUrl: "https://opsd.example", ');
  /** Notifications by their id: the killed daemon may not have learned that one arrived, and sends it again. */
  const notified = (): Notified[] => {
    const all = webhook.requests.map(({ body }) => JSON.parse(body.toString()) as Notified);
    const incidents = all.filter(({ key }) => key.startsWith('incident/'));
    return [...new Map(incidents.map((one) => [one.id, one])).values()];
  };
  const present = async (url: string): Promise<Incidents['incidents']> =>
    ((await (await fetch(`${url}/api/v1/incidents`)).json()) as Incidents).incidents;

  await world.failRuns(4, 'billing');
  const { daemon: first, url } = await world.start(config);
  await until({ what: 'the notification arrived' }, () => notified().length > 0);
  const [incident] = await present(url);
  expect(incident).toMatchObject({ state: 'open', members: { now: 4, ever: 4 } });
  expect(notified()).toMatchObject([{ key: `incident/${incident!.id}`, status: 'firing' }]);
  expect(notified()[0]!.detail).toContain(`https://opsd.example/incidents/${incident!.id}`);
  await first.crash();

  const second = world.run(config);
  const again = await addressOf(second);
  await until({ what: 'the DLQ was read again' }, async () => {
    const { queues } = (await (await fetch(`${again}/api/v1/dead-letters`)).json()) as {
      queues: { readAt?: number }[];
    };
    return queues.some(({ readAt }) => readAt !== undefined);
  });
  expect(await present(again)).toMatchObject([{ id: incident!.id, state: 'open', members: { now: 4, ever: 4 } }]);
  const noted = opsd([
    'incidents',
    'acknowledge',
    incident!.id,
    '--note',
    'known',
    '--config',
    join(world.folder, 'opsd.yaml'),
  ]);
  expect((await noted.ended).code, noted.stderr()).toBe(0);
  expect(await present(again)).toMatchObject([{ state: 'acknowledged' }]);
  const audit = opsd(['audit', '--config', join(world.folder, 'opsd.yaml'), '-o', 'json']);
  await audit.ended;
  expect(audit.stdout()).toContain('incident.acknowledged');

  await removeRuns(
    world.service,
    (await failedRuns(world.service)).map(({ dlqId }) => dlqId),
  );
  await until({ what: 'the incident is resolved' }, () => notified().length > 1);
  expect(await present(again)).toMatchObject([{ state: 'resolved', members: { now: 0, ever: 4 } }]);
  expect(notified().map(({ status }) => status)).toEqual(['firing', 'resolved']);
  await second.stop();
});
