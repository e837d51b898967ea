/** A cursor is accepted by its own listing at any clock, and rejected by every other. */
import { describe, expect, test } from 'vitest';
import { Query, cursorAt, type Listing } from '#emulator/http/query.ts';
import { QUERY_PARAMETERS } from '#emulator/http/query-parameters.ts';
import { DEFAULT_SWITCHES } from '#emulator/state/switches.ts';
import { world, type World } from '../world.ts';

const LISTINGS: readonly (readonly [listing: string, method: string, path: string])[] = [
  ['entries', 'GET', '/v2/logs'],
  ['failed runs', 'GET', '/v2/workflows/dlq'],
  ['dead messages', 'DELETE', '/v2/dlq'],
];

async function cursorOf(service: World, method: string, path: string): Promise<string> {
  const { json } = await service.call<{ readonly cursor?: string }>(method, `${path}?count=1`);
  return json.cursor!;
}

describe.each(LISTINGS)('a cursor of %s', (listing, method, path) => {
  test('is accepted there, and rejected elsewhere', async () => {
    const service = await world({ control: true });
    const failed = [{ url: 'http://a.example/', count: 5 }];
    await service.emulator.control.seed({ deadLetters: failed, failedRuns: failed });
    const cursor = await cursorOf(service, method, path);
    for (const [other, otherMethod, otherPath] of LISTINGS) {
      const answer = await service.call(otherMethod, `${otherPath}?cursor=${cursor}`);
      if (other === listing) expect(answer.status).toBe(200);
      else expect(answer).toMatchObject({ status: 400, json: { error: expect.stringMatching(/^cursor belongs to/) } });
    }
  });
});

test.each([0, 1_795_168_800_000.123, -5.5, 8.64e15])('a cursor of an entry at %d is accepted', (time) => {
  for (const listing of ['log', 'dlq', 'run'] satisfies readonly Listing[]) {
    const params = new URLSearchParams({ cursor: cursorAt(listing, { time, sequence: 7 }) });
    expect(new Query(params, QUERY_PARAMETERS['list-logs'], DEFAULT_SWITCHES).cursor(listing)).toBe(7);
  }
});
