/** Management API (interface 4.2): request and response of each operation that the daemon sends by itself. */
import type { ManagementApi } from './api.ts';
import { checkInteger } from './arguments.ts';
import type { ApiConnection } from './connection.ts';
import { parseOk } from './parse/publish-result.ts';
import type { Drops } from './parse/reader.ts';
import { parseSearchIndex } from './parse/search-index.ts';
import { parseAccountStats, parseVectorStats } from './parse/statistics.ts';
import { callRequest, type OperationRequest } from './request.ts';
import type { WireNames } from './wire-names.ts';

/** Range of the budget in US dollars per month. The wire's 0, which means unlimited, is never sent by the daemon. */
const BUDGET = { min: 20, max: 10_000 };

export function createManagementApi(connection: ApiConnection, names: WireNames): ManagementApi {
  const request = (name: string, given: object): OperationRequest => callRequest(name, given, names);

  return {
    async updateBudget(id, dollars, { signal }) {
      const budget = checkInteger('update-budget', 'dollars', dollars, BUDGET);
      await connection.write({ ...request('update-budget', { id, budget }), parse: parseOk }, signal);
    },

    async getAccountStats(id, period, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseAccountStats(body, drops, names);
      return connection.read({ ...request('get-account-stats', { id, period }), parse }, signal);
    },

    async getIndex(id, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseSearchIndex(body, drops, { names, asked: id });
      return connection.read({ ...request('get-index', { id }), parse }, signal);
    },

    async getVectorStats(id, period, { signal }) {
      const parse = (body: Buffer, drops: Drops) => parseVectorStats(body, drops, { names, index: id });
      return connection.read({ ...request('get-vector-stats', { id, period }), parse }, signal);
    },
  };
}
