import { describe, expect, test } from 'vitest';
import { RequestRecorder, type RecordedRequest } from '#emulator/control/request-recorder.ts';
import { control, controlled } from '../controlled.ts';
import { START, TOKEN } from '../world.ts';

describe('the request recorder', () => {
  test('reports requests and responses over HTTP, without credentials', async () => {
    const service = await controlled();
    const requests = async (query = '') =>
      (await control<{ requests: RecordedRequest[] }>(service, `GET /requests${query}`)).json.requests;
    const secrets = ['s3cret-forwarded', 's3cret-cookie', 's3cret-query', 's3cret-user', 's3cret-basic'];
    await service.call('POST', '/v2/publish/http://a.example/x?token=s3cret-query&kind=1', {
      body: '12345',
      headers: {
        'Svc-Forward-Authorization': 'Bearer s3cret-forwarded',
        Cookie: 'a=s3cret-cookie',
        'Svc-Delay': '1h',
        'Svc-Callback': 'http://b.example/back?api_key=s3cret-query',
      },
    });
    await service.call('POST', '/v2/publish/http://me:s3cret-user@a.example/');
    const basic = `Basic ${Buffer.from('me:s3cret-basic').toString('base64')}`;
    await service.call('GET', '/v2/msgsvc/stats/acc-1', { headers: { Authorization: basic } });
    await service.call('GET', '/v9/nothing');

    const seen = await requests();
    expect(seen).toMatchObject([
      {
        sequence: 1,
        at: START,
        method: 'POST',
        path: '/v2/publish/http://a.example/x?token=[hidden]&kind=1',
        operation: 'publish',
        headers: {
          authorization: '[hidden]',
          'svc-delay': '1h',
          'svc-callback': 'http://b.example/back?api_key=[hidden]',
        },
        bodyBytes: 5,
        status: 200,
      },
      { path: '/v2/publish/http://[hidden]@a.example/', operation: 'publish' },
      { operation: 'get-account-stats', status: 401 },
      { path: '/v9/nothing', status: 404 },
    ]);
    const text = JSON.stringify(seen);
    for (const secret of [TOKEN, basic, ...secrets]) expect(text).not.toContain(secret);
    expect((await requests('?operation=publish&after=1')).map((request) => request.sequence)).toEqual([2]);

    await control(service, 'DELETE /requests');
    expect(await requests()).toEqual([]);
    await service.call('GET', '/v2/topics');
    expect(await requests()).toMatchObject([{ sequence: 5, operation: 'list-url-groups' }]);
  });

  test('keeps the last requests', () => {
    const recorder = new RequestRecorder(3);
    const request = { at: 0, method: 'GET', path: '/', headers: {}, bodyBytes: 0, status: 200 };
    for (let count = 0; count < 20; count++) {
      recorder.record(request);
      const sequences = recorder.list().map(({ sequence }) => sequence);
      expect(sequences).toEqual([count - 1, count, count + 1].filter((sequence) => sequence > 0));
    }
  });
});
