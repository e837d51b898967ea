/** The failure function of a workflow: a message to the workflow's own URL, and its state in the DLQ. */
import { describe, expect, test } from 'vitest';
import type { Switches } from '#emulator/state/switches.ts';
import type { Step } from '#emulator/types/public.ts';
import { ACCOUNT, START, world, type World } from '../world.ts';

const URL_OF_FLOW = 'https://flows.example/order';

interface DeadRun {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly failureFunctionState?: string;
  readonly failureCallbackInfo?: { readonly state: string };
}

async function failing(steps: readonly Step[], switches: Partial<Switches> = { failureFunction: 'on' }) {
  const service = await world({ switches });
  await service.emulator.destinations.script('flows.example', steps);
  return service;
}

async function trigger(service: World, headers: Record<string, string> = {}): Promise<string> {
  const answer = await service.call<{ workflowRunId: string }>('POST', `/v2/trigger/${URL_OF_FLOW}`, {
    headers: { 'Svc-Retries': '0', 'Svc-Retry-Delay': '1000', ...headers },
    body: 'payload',
  });
  expect(answer.status).toBe(200);
  return answer.json.workflowRunId;
}

async function deadRuns(service: World, query = ''): Promise<readonly DeadRun[]> {
  const { json } = await service.call<{ messages: readonly DeadRun[] }>('GET', `/v2/workflows/dlq?${query}`);
  return json.messages;
}

/** Returns the requests to the failure function. */
function calls(service: World) {
  const requests = service.emulator.destinations.requests('flows.example');
  return requests.filter(({ headers }) => headers['svc-workflow-failure'] !== undefined);
}

/** Returns the message that calls the failure function, which is the newest message. */
function notice(service: World) {
  return service.emulator.messages(ACCOUNT).at(-1)!;
}

test('is called once, at the URL of the workflow, with the body of a failure callback', async () => {
  const service = await failing([{ status: 500, body: 'broken', headers: { 'X-Why': 'no' } }, 200]);
  const runId = await trigger(service, { 'Svc-Forward-Order': '17' });
  await service.drain();
  const [call, ...others] = calls(service);
  expect(others).toEqual([]);
  expect(call).toMatchObject({
    method: 'POST',
    path: '/order',
    headers: {
      host: 'flows.example',
      'content-type': 'application/json',
      'svc-workflow-failure': 'true',
      'svc-workflow-runid': runId,
      'svc-signature': expect.any(String) as string,
    },
  });
  const [run] = service.emulator.workflowDlq(ACCOUNT);
  expect(JSON.parse(call!.body.toString())).toEqual({
    status: 500,
    header: expect.objectContaining({ 'X-Why': ['no'] }) as object,
    body: btoa('broken'),
    retried: 0,
    maxRetries: 0,
    dlqId: run!.dlqId,
    sourceMessageId: run!.id,
    url: URL_OF_FLOW,
    method: 'POST',
    sourceHeader: { Order: '17' },
    sourceBody: btoa('payload'),
    notBefore: String(START),
    createdAt: String(START),
    callerIP: '127.0.0.1',
  });
  // The message is charged as a regular one.
  expect(service.facts.filter(({ kind }) => kind === 'attempt')).toMatchObject([
    { workflow: true, outcome: 'failed' },
    { workflow: false, outcome: 'delivered' },
  ]);
});

test('the run itself and its retries do not carry the header', async () => {
  const service = await failing([500, 500, 200]);
  await trigger(service, { 'Svc-Retries': '1' });
  await service.drain();
  const marks = service.emulator.destinations
    .requests('flows.example')
    .map(({ headers }) => headers['svc-workflow-failure']);
  expect(marks).toEqual([undefined, undefined, 'true']);
});

describe('its state', () => {
  const stateOf = async (service: World) => (await deadRuns(service)).map((run) => run.failureFunctionState);

  test('in progress, then run; a filter finds it', async () => {
    const service = await failing([500, { afterMs: 5_000 }]);
    await trigger(service);
    await service.emulator.idle();
    expect(await stateOf(service)).toEqual(['CALLBACK_INPROGRESS']);
    await service.drain();
    expect(await stateOf(service)).toEqual(['CALLBACK_SUCCESS']);
    expect(await deadRuns(service, 'failureFunctionState=CALLBACK_SUCCESS,CALLBACK_FAIL')).toHaveLength(1);
    expect(await deadRuns(service, 'failureFunctionState=CALLBACK_INPROGRESS')).toEqual([]);
  });

  test('failed to run, after the retries of the run, at its retry delay', async () => {
    const service = await failing([500]);
    await trigger(service, { 'Svc-Retries': '2', 'Svc-Retry-Delay': '60000' });
    await service.drain();
    expect(calls(service).map(({ at }) => at - START)).toEqual([120_000, 180_000, 240_000]);
    expect(await stateOf(service)).toEqual(['CALLBACK_FAIL']);
    // The failed call is a separate message and has no failure function.
    const dlq = await service.call<{ deleted: number }>('DELETE', `/v2/dlq?messageId=${notice(service).id}`);
    expect(dlq.json.deleted).toBe(1);
    expect(service.emulator.messages(ACCOUNT)).toHaveLength(2);
  });

  test('canceled with its message', async () => {
    const service = await failing([500]);
    await trigger(service, { 'Svc-Retries': '1' });
    await service.drain(1_000);
    expect(service.emulator.cancelMessage(ACCOUNT, notice(service).id)).toBe(true);
    await service.drain();
    expect(await stateOf(service)).toEqual(['CALLBACK_CANCELED']);
  });
});

describe('is not called', () => {
  test('when a failure callback is set: that one is called', async () => {
    const service = await failing([500]);
    await service.emulator.destinations.script('told.example', [200]);
    await trigger(service, { 'Svc-Failure-Callback': 'http://told.example/' });
    await service.drain();
    expect(calls(service)).toEqual([]);
    const told = service.emulator.destinations.requests('told.example');
    expect(told).toHaveLength(1);
    expect(told[0]!.headers).not.toHaveProperty('svc-workflow-failure');
    expect(await deadRuns(service)).toMatchObject([{ failureFunctionState: 'CALLBACK_SUCCESS' }]);
  });

  test('for a run that was delivered or canceled, and for a message that is not a run', async () => {
    const service = await failing([200, 500]);
    await trigger(service);
    await service.drain();
    await trigger(service, { 'Svc-Retries': '3' });
    await service.emulator.idle();
    service.emulator.cancelMessage(ACCOUNT, notice(service).id);
    await service.call('POST', `/v2/publish/${URL_OF_FLOW}`, { headers: { 'Svc-Retries': '0' } });
    await service.drain();
    expect(calls(service)).toEqual([]);
  });
});

test('an empty failure callback counts as none', async () => {
  const service = await failing([500, 200]);
  await trigger(service, { 'Svc-Failure-Callback': '' });
  await service.drain();
  expect(calls(service)).toHaveLength(1);
});

test('a resumed run that fails again has another call', async () => {
  const service = await failing([500, 200, 500, 200]);
  await trigger(service);
  await service.drain();
  const [first] = await deadRuns(service);
  await service.call('POST', `/v2/workflows/dlq/resume?dlqIds=${first!.dlqId}`);
  await service.drain();
  const [again] = await deadRuns(service);
  expect(again!.dlqId).not.toBe(first!.dlqId);
  expect(calls(service).map((call) => (JSON.parse(call.body.toString()) as { dlqId: string }).dlqId)).toEqual([
    first!.dlqId,
    again!.dlqId,
  ]);
});
