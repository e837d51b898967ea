/** Faults of the service's deliveries: what the destination gets, what the log reports, and what the callback says. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHash } from 'node:crypto';
import type { DeliveryFaultRule, DeliveryFault, Emulator } from '#emulator/types/public.ts';
import { startEmulator } from '#emulator/testing/start.ts';
import { httpSink, type HttpSink } from '../../../test/support/http-sink.ts';
import { control, controlled } from '../controlled.ts';
import { allLogs, statesOf, type World } from '../world.ts';

interface Faulty extends World {
  readonly sink: HttpSink;
  fault(rule: DeliveryFaultRule): void;
  /** Publishes a message to the sink, and returns its id after its delivery, if it is delivered now. */
  publish(headers?: Record<string, string>, path?: string): Promise<string>;
}

async function faulty(): Promise<Faulty> {
  const service = await controlled();
  const sink = await httpSink();
  return {
    ...service,
    sink,
    fault: (rule) => void service.emulator.control.deliveryFaults.add(rule),
    async publish(headers = {}, path = '/arrivals') {
      const { json } = await service.call('POST', `/v2/publish/${sink.url}${path}`, { headers, body: 'the body' });
      await service.emulator.idle();
      return String(json['messageId']);
    },
  };
}

const bodies = ({ sink }: Faulty): readonly string[] => sink.requests.map(({ body }) => body.toString());
const callbackTo = ({ sink }: Faulty): Record<string, string> => ({ 'Svc-Callback': `${sink.url}/callbacks` });
const reported = ({ sink }: Faulty): readonly unknown[] =>
  sink.requests
    .filter(({ url }) => url === '/callbacks')
    .map(({ body }) => (JSON.parse(body.toString()) as { status: number }).status);

describe('selection', () => {
  test('url, label, skip and times select the messages, and a removed rule has no effect', async () => {
    const service = await faulty();
    const { control } = service.emulator;
    const { id } = control.deliveryFaults.add({
      url: `${service.sink.url}/arr*`,
      label: 'canary',
      skip: 1,
      times: 1,
      fault: { kind: 'misreported', status: 200, sent: false },
    });
    const label = { 'Svc-Label': 'canary,other' };
    const sent: number[] = [];
    for (const [headers, path] of [[label], [{}], [label, '/elsewhere'], [label], [label]] as const) {
      const before = service.sink.requests.length;
      await service.publish(headers, path);
      sent.push(service.sink.requests.length - before);
    }
    expect(sent).toEqual([1, 1, 1, 0, 1]);
    expect(control.deliveryFaults.list()).toMatchObject([{ id, hits: 1 }]);
    expect([control.deliveryFaults.remove(id), control.deliveryFaults.remove(id)]).toEqual([true, false]);
  });

  test('a reset removes the rules', async () => {
    const service = await faulty();
    service.fault({ fault: { kind: 'held' } });
    await service.emulator.control.reset();
    await service.publish();
    expect(bodies(service)).toEqual(['the body']);
  });
});

describe('the control API', () => {
  test('adds, lists and removes rules', async () => {
    const service = await faulty();
    const { json } = await control(service, 'POST /delivery-faults', { fault: { kind: 'held' } });
    expect(json).toMatchObject({ id: 'delivery-fault-1', hits: 0 });
    await control(service, 'POST /delivery-faults', { fault: { kind: 'sent-twice' } });
    expect((await control(service, 'DELETE /delivery-faults/delivery-fault-1')).status).toBe(200);
    expect((await control(service, 'DELETE /delivery-faults/delivery-fault-1')).status).toBe(404);
    expect((await control(service, 'GET /delivery-faults')).json).toMatchObject({
      faults: [{ id: 'delivery-fault-2' }],
    });
    await control(service, 'DELETE /delivery-faults');
    expect((await control(service, 'GET /delivery-faults')).json).toEqual({ faults: [] });
  });

  test.each([
    ['an unknown kind', { fault: { kind: 'slow' } }, 'fault.kind'],
    ['an unknown field', { tims: 1, fault: { kind: 'held' } }, 'tims'],
    ['no destination', { url: 'api.example', fault: { kind: 'held' } }, 'url: must begin with http'],
    ['an unknown state', { fault: { kind: 'unlogged', states: ['LOST'] } }, 'fault.states'],
  ])('rejects a rule with %s', async (_what, rule, problem) => {
    const { status, json } = await control(await faulty(), 'POST /delivery-faults', rule);
    expect([status, String(json['error'])]).toEqual([400, expect.stringContaining(problem)]);
  });
});

describe('faults', () => {
  test('a held message is delivered later, and its log reports no delay', async () => {
    const service = await faulty();
    service.fault({ times: 1, fault: { kind: 'held', ms: 60_000 } });
    const id = await service.publish();
    await service.emulator.advance(59_999);
    expect([bodies(service), await statesOf(service, id)]).toEqual([[], ['CREATED']]);
    expect((await allLogs(service))[0]).not.toHaveProperty('nextDeliveryTime');
    await service.emulator.advance(1);
    expect(bodies(service)).toEqual(['the body']);
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
  });

  test('a message that is held without a time is never delivered, and can be canceled', async () => {
    const service = await faulty();
    service.fault({ fault: { kind: 'held' } });
    const id = await service.publish();
    await service.emulator.advance(86_400_000);
    expect([bodies(service), await statesOf(service, id)]).toEqual([[], ['CREATED']]);
    service.emulator.control.cancelMessage({ messageId: id });
    expect(await statesOf(service, id)).toEqual(['CREATED', 'CANCEL_REQUESTED', 'CANCELLED']);
  });

  test.each([
    ['dns', 'getaddrinfo ENOTFOUND 127.0.0.1'],
    ['refused', 'connect ECONNREFUSED 127.0.0.1:'],
    ['reset', 'ECONNRESET'],
    ['tls', 'self-signed certificate'],
    ['timeout', 'UND_ERR_CONNECT_TIMEOUT'],
  ] as const)('an attempt without a connection (%s) fails with its error, and is retried', async (how, error) => {
    const service = await faulty();
    service.fault({ url: `${service.sink.url}/arrivals`, times: 1, fault: { kind: 'unreachable', how } });
    const id = await service.publish(callbackTo(service));
    const failed = (await allLogs(service, `messageId=${id}`)).find(({ state }) => state === 'ERROR')!;
    expect(failed.error).toContain(error);
    expect(failed).not.toHaveProperty('responseStatus');
    expect([bodies(service).filter((body) => body === 'the body'), reported(service)]).toEqual([[], [0]]);
    await service.emulator.advance(60_000);
    expect(bodies(service)).toContain('the body');
  });

  test('a connection error can have the text of another service', async () => {
    const service = await faulty();
    const error = 'dial tcp: lookup api.example: no such host';
    service.fault({ fault: { kind: 'unreachable', how: 'dns', error } });
    const id = await service.publish();
    expect(await allLogs(service, `messageId=${id}&state=ERROR`)).toMatchObject([{ error }]);
  });

  test('a misreported delivery is delivered in log and callback, and no request was sent', async () => {
    const service = await faulty();
    const url = `${service.sink.url}/arrivals`;
    service.fault({ url, fault: { kind: 'misreported', status: 200, sent: false } });
    const id = await service.publish(callbackTo(service));
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
    expect([bodies(service).includes('the body'), reported(service)]).toEqual([false, [200]]);
  });

  test('a misreported status differs from the response of the destination', async () => {
    const service = await faulty();
    service.fault({ url: `${service.sink.url}/arrivals`, times: 1, fault: { kind: 'misreported', status: 502 } });
    const id = await service.publish(callbackTo(service));
    expect(await allLogs(service, `messageId=${id}&state=ERROR`)).toMatchObject([{ responseStatus: 502 }]);
    expect([bodies(service).filter((body) => body === 'the body').length, reported(service)]).toEqual([1, [502]]);
  });

  test('a request that is sent twice has one log entry and one callback', async () => {
    const service = await faulty();
    service.fault({ url: `${service.sink.url}/arrivals`, fault: { kind: 'sent-twice' } });
    const id = await service.publish(callbackTo(service));
    expect(bodies(service).filter((body) => body === 'the body')).toHaveLength(2);
    expect(await statesOf(service, id)).toEqual(['CREATED', 'ACTIVE', 'DELIVERED']);
    expect(reported(service)).toEqual([200]);
  });

  test.each([
    ['cut', 'the '],
    ['changed', 'the bodx'],
  ] as const)('an altered body (%s) is signed as it is sent', async (how, body) => {
    const service = await faulty();
    service.fault({ fault: { kind: 'altered', how } });
    await service.publish();
    expect(bodies(service)).toEqual([body]);
    const [, claims] = String(service.sink.requests[0]!.headers['svc-signature']).split('.');
    const { body: hash } = JSON.parse(Buffer.from(claims!, 'base64url').toString()) as { body: string };
    expect(hash).toBe(createHash('sha256').update(body).digest('base64url'));
  });

  test('an empty body cannot be altered', async () => {
    const service = await faulty();
    service.fault({ fault: { kind: 'altered', how: 'changed' } });
    await service.call('POST', `/v2/publish/${service.sink.url}/arrivals`);
    await service.emulator.idle();
    expect(bodies(service)).toEqual(['']);
  });

  test('the log lacks transitions to the given states, or all', async () => {
    const service = await faulty();
    service.fault({ label: 'some', fault: { kind: 'unlogged', states: ['DELIVERED'] } });
    service.fault({ label: 'all', fault: { kind: 'unlogged' } });
    const [some, all] = [await service.publish({ 'Svc-Label': 'some' }), await service.publish({ 'Svc-Label': 'all' })];
    expect([await statesOf(service, some), await statesOf(service, all)]).toEqual([['CREATED', 'ACTIVE'], []]);
    expect(bodies(service)).toHaveLength(2);
    expect(service.emulator.control.deliveryFaults.list()).toMatchObject([{ hits: 1 }, { hits: 3 }]);
  });

  test('neither callback nor failure callback is sent', async () => {
    const service = await faulty();
    service.sink.answerWith(({ url }, response) => void response.writeHead(url === '/arrivals' ? 500 : 200).end());
    service.fault({ label: 'silent', fault: { kind: 'no-callback' } });
    const headers = {
      ...callbackTo(service),
      'Svc-Failure-Callback': `${service.sink.url}/failures`,
      'Svc-Retries': '0',
    };
    await service.publish({ ...headers, 'Svc-Label': 'silent' });
    expect(service.sink.requests.map(({ url }) => url)).toEqual(['/arrivals']);
    await service.publish(headers);
    expect(service.sink.requests.map(({ url }) => url).toSorted()).toEqual([
      '/arrivals',
      '/arrivals',
      '/callbacks',
      '/failures',
    ]);
  });
});

describe('the library', () => {
  const started = async (): Promise<Emulator> => {
    const emulator = await startEmulator({ time: 'virtual' });
    onTestFinished(() => emulator.stop());
    return emulator;
  };

  test('adds, counts and removes faults of deliveries', async () => {
    const emulator = await started();
    await emulator.destinations.script('shop.example', [200]);
    const fault: DeliveryFault = { kind: 'unreachable', how: 'tls' };
    const { id } = emulator.deliveryFaults.add({ url: 'https://shop.example/*', fault });
    await fetch(`${emulator.url}/v2/publish/https://shop.example/orders`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${emulator.token}` },
    });
    await emulator.idle();
    expect(emulator.messages()).toMatchObject([
      { attempts: 1, error: expect.stringContaining('certificate') as string },
    ]);
    expect(emulator.deliveryFaults.list()).toMatchObject([{ id, hits: 1 }]);
    expect(emulator.deliveryFaults.remove(id)).toBe(true);
    emulator.deliveryFaults.clear();
    expect(emulator.deliveryFaults.list()).toEqual([]);
  });

  test('rejects an invalid rule', async () => {
    const { deliveryFaults } = await started();
    expect(() => deliveryFaults.add({ fault: { kind: 'unreachable', how: 'fire' } as never })).toThrow('fault.how');
    expect(deliveryFaults.list()).toEqual([]);
  });
});
