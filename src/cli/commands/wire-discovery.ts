/** Finds the names that differ between installations of the service, with GET requests only. */
import { clientOf } from '#foundation/platform/client-pair.ts';
import type { Account } from '#config/config.ts';
import { HEADER_PREFIX, PRODUCT } from '#foundation/domain/wire-names.ts';
import { Secret } from '#foundation/platform/secret.ts';
import type { CliIo } from '../command.ts';
import { attempt, oneRequest, passwordTrial, withClient, type Attempt } from './check-connect.ts';

/** Ends of header names that only the service sets on a failed run. */
const OWN_HEADER = /^(.+)-(?:workflow-runid|workflow-url|workflow-init|flow-control-key|flow-control-value)$/i;

/**
 * Prefix of the service's own headers in the failed runs.
 *
 * @returns undefined if no run has such a header
 */
export async function findHeaderPrefix(account: Account, token: Secret, io: CliIo): Promise<string | undefined> {
  const client = {
    ...oneRequest(account),
    messageApi: { url: account.messageApi!.url, token, ...clientOf(account.messageApi!) },
  };
  const { value } = await withClient(client, io, ({ message }) =>
    message!.listWholeWorkflowDlq({ count: 100 }, { signal: io.signal }),
  );
  for (const { row } of value) {
    const prefix = prefixOf(row['header']);
    if (prefix !== undefined) return prefix;
  }
  return undefined;
}

function prefixOf(header: unknown): string | undefined {
  const names = typeof header === 'object' && header !== null ? Object.keys(header) : [];
  const [prefix] = names.flatMap((name) => OWN_HEADER.exec(name)?.[1] ?? []);
  if (prefix === undefined || !HEADER_PREFIX.form.test(prefix)) return undefined;
  // Header names have no case, and some servers store them in lower case.
  return prefix === prefix.toLowerCase()
    ? prefix.replace(/^[a-z]|(?<=-)[a-z]/g, (first) => first.toUpperCase())
    : prefix;
}

/** Products to try: the configured one, then the names in the hosts of the account's URLs. */
export function productCandidates({ wire, messageApi, managementApi }: Account): readonly string[] {
  const hosts = [messageApi?.url, managementApi?.url].map((url) => URL.parse(url ?? '')?.hostname ?? '');
  // The last label is the top-level domain.
  const labels = hosts.filter((host) => /[a-z]/i.test(host)).flatMap((host) => host.split('.').slice(0, -1));
  const names = labels.map((label) => label.replaceAll('-', '_')).filter((label) => PRODUCT.form.test(label));
  return [...new Set([wire.product, ...names])].slice(0, MOST_PRODUCTS);
}

const MOST_PRODUCTS = 8;

/** Tries the products until the service knows one. @returns the last attempt, or the first one if it knows none */
export async function tryProducts(
  account: Account,
  password: Secret,
  io: CliIo,
): Promise<{ readonly product: string; readonly attempt: Attempt; readonly tried: readonly string[] }> {
  const tried: string[] = [];
  let first: Attempt | undefined;
  for (const product of productCandidates(account)) {
    const wire = { ...account.wire, product };
    tried.push(product);
    const made = await attempt(passwordTrial({ ...account, wire }, password), io);
    if (!isOfAddress(made)) return { product, attempt: made, tried };
    first ??= made;
  }
  return { product: account.wire.product, attempt: first!, tried };
}

/** Returns true if another path of the same server may be the right one. */
export function isOfAddress({ code }: Attempt): boolean {
  return code === 'not_found' || code === 'malformed';
}
