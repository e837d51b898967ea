/** Management API (interface 4.2): accounts, statistics, search and vector indexes. */
import { STATS_PERIODS } from '#foundation/domain/statistics.ts';
import type { ManagementApi } from './api.ts';
import { checkInteger, checkOneOf, checkText } from './arguments.ts';
import type { ApiConnection } from './connection.ts';
import { parseRotatedAccount } from './parse/account.ts';
import { parseOk } from './parse/acknowledgement.ts';
import type { Drops } from './parse/reader.ts';
import { parseSearchIndex } from './parse/search-index.ts';
import { parseAccountStats, parseVectorStats } from './parse/statistics.ts';
import { pathSegment } from './path.ts';
import { buildQuery } from './query.ts';
import type { WireNames } from './wire-names.ts';

/**
 * Range of the budget in US dollars per month. 0 means unlimited on the wire; callers must pass `unlimited` instead.
 */
const BUDGET = { min: 20, max: 10_000 };

export function createManagementApi(connection: ApiConnection, names: WireNames): ManagementApi {
  const change = async (
    operation: string,
    ask: { readonly method?: 'PATCH'; readonly path: string; readonly body: object; readonly signal: AbortSignal },
  ): Promise<void> => {
    const { method = 'POST', path, signal } = ask;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(ask.body);
    await connection.write({ operation, method, path, headers, body, parse: parseOk }, signal);
  };

  return {
    async moveToTeam(request, { signal }) {
      const operation = 'move-to-team';
      const body = {
        [names.accountIdField]: checkText(operation, 'accountId', request.accountId),
        target_team_id: checkText(operation, 'targetTeamId', request.targetTeamId),
      };
      await change(operation, { path: names.managementPath('move-to-team'), body, signal });
    },

    async setPlan(accountId, plan, { signal }) {
      const operation = 'set-plan';
      const body = { plan_name: checkOneOf(operation, 'plan', plan, names.plans) };
      await change(operation, { path: accountPath('set-plan', operation, accountId), body, signal });
    },

    async rotateToken(accountId, { signal }) {
      const operation = 'rotate-token';
      const path = accountPath('rotate-token', operation, accountId);
      const parse = (body: Buffer, drops: Drops) => parseRotatedAccount(body, drops, accountId);
      return (await connection.write({ operation, method: 'POST', path, parse }, signal)).value;
    },

    async updateBudget(accountId, dollars, { signal }) {
      const operation = 'update-budget';
      const budget = dollars === 'unlimited' ? 0 : checkInteger(operation, 'dollars', dollars, BUDGET);
      const path = accountPath('update-budget', operation, accountId);
      await change(operation, { method: 'PATCH', path, body: { budget }, signal });
    },

    async getAccountStats(accountId, period, { signal }) {
      const operation = 'get-account-stats';
      const path = accountPath('stats', operation, accountId) + periodQuery(operation, period);
      const parse = (body: Buffer, drops: Drops) => parseAccountStats(body, drops, names);
      return connection.read({ operation, path, parse }, signal);
    },

    async createIndex(request, { signal }) {
      const operation = 'create-index';
      const body = JSON.stringify({
        name: checkText(operation, 'name', request.name),
        region: checkText(operation, 'region', request.region),
        type: checkText(operation, 'type', request.type),
      });
      const headers = { 'content-type': 'application/json' };
      const parse = (answer: Buffer, drops: Drops) => parseSearchIndex(answer, drops, { names });
      return connection.write({ operation, method: 'POST', path: '/v2/search', headers, body, parse }, signal);
    },

    async getIndex(indexId, { signal }) {
      const operation = 'get-index';
      const path = `/v2/search/${pathSegment(operation, 'indexId', indexId)}`;
      const parse = (body: Buffer, drops: Drops) => parseSearchIndex(body, drops, { names, asked: indexId });
      return connection.read({ operation, path, parse }, signal);
    },

    async renameIndex(indexId, name, { signal }) {
      const operation = 'rename-index';
      const path = `/v2/search/${pathSegment(operation, 'indexId', indexId)}/rename`;
      await change(operation, { path, body: { name: checkText(operation, 'name', name) }, signal });
    },

    async transferIndex(indexId, targetAccount, { signal }) {
      const operation = 'transfer-index';
      const path = `/v2/search/${pathSegment(operation, 'indexId', indexId)}/transfer`;
      const body = { target_account: checkText(operation, 'targetAccount', targetAccount) };
      await change(operation, { path, body, signal });
    },

    async getVectorStats(indexId, period, { signal }) {
      const operation = 'get-vector-stats';
      const index = pathSegment(operation, 'indexId', indexId);
      const path = `/v2/vector/index/${index}/stats${periodQuery(operation, period)}`;
      const parse = (body: Buffer, drops: Drops) => parseVectorStats(body, drops, { names, index: indexId });
      return connection.read({ operation, path, parse }, signal);
    },
  };

  function accountPath(action: string, operation: string, accountId: string): string {
    return `${names.managementPath(action)}/${pathSegment(operation, 'accountId', accountId)}`;
  }
}

function periodQuery(operation: string, period: unknown): string {
  return buildQuery(operation, [['period', checkOneOf(operation, 'period', period, STATS_PERIODS)]]);
}
