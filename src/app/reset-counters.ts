/** Resets counters of an account that a wrong value of the service has ruined. */
import { isMetricName, specOf } from '#observe/catalog/catalog.ts';
import type { StateCommands } from '#operate/api/api-deps.ts';
import { HttpError } from '#operate/http/reply.ts';
import type { Generation } from './generation.ts';
import type { Storage } from './storage.ts';

/** Counters are reset in the account's turn: an increase is committed before the reset, or counts after it. */
export function counterResets(
  { config, whole, stores }: Generation,
  { ledger }: Pick<Storage, 'ledger'>,
): StateCommands['resetCounters'] {
  return async ({ account, metric, labels, by, reason }) => {
    const names = whole.accounts.map(({ name }) => name);
    if (!names.includes(account)) {
      throw new HttpError(404, 'not_found', `There is no account ${account}; accounts: ${names.join(', ')}.`);
    }
    if (!config.accounts.some(({ name }) => name === account)) {
      const message = `Another replica owns account ${account}: send the command to it, see opsd status.`;
      throw new HttpError(409, 'refused', message);
    }
    const spec = isMetricName(metric) ? specOf(metric) : undefined;
    if (spec?.mirrored !== true || spec.type !== 'counter' || !spec.account) {
      const message = `${metric} is not a stored counter of an account; opsd metrics lists the metrics.`;
      throw new HttpError(400, 'bad_request', message);
    }
    const unknown = Object.keys(labels).find((name) => !spec.labels.includes(name));
    if (unknown !== undefined) {
      const message = `${metric} has no label ${unknown}; its labels: ${spec.labels.join(', ') || 'none'}.`;
      throw new HttpError(400, 'bad_request', message);
    }
    const isMeant = (values: readonly string[]): boolean =>
      spec.labels.every((name, index) => labels[name] === undefined || labels[name] === values[index]);
    const former = await stores.totals.reset(account, () =>
      ledger.resetCounters({ account, metric, isMeant, by, reason }),
    );
    return former.map(({ labels: values, value }) => ({
      labels: Object.fromEntries(spec.labels.map((name, index) => [name, values[index] ?? ''])),
      value,
    }));
  };
}
