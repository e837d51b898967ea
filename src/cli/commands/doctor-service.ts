/** Checks of the service: addresses, credentials, clock, and the names that differ between installations. */
import type { Account, Config } from '#config/config.ts';
import { formatDuration } from '#foundation/domain/duration.ts';
import type { ServiceErrorCode } from '#foundation/domain/service-error.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import type { CliIo } from '../command.ts';
import { attempt, secretOf, trialsOf, type Attempt } from './check-connect.ts';
import { finding, ok, skippedCheck, type Check, type CheckResult } from './doctor-check.ts';
import { findHeaderPrefix, isOfAddress, tryProducts } from './wire-discovery.ts';

/** Minimum difference of the clocks that is a finding. The `Date` header has whole seconds. */
const CLOCK_LIMIT_MS = 5_000;

export async function checkService({ accounts }: Config, io: CliIo): Promise<readonly Check[]> {
  return (await Array.fromAsync(accounts, (account) => checkAccount(account, io))).flat();
}

async function checkAccount(account: Account, io: CliIo): Promise<readonly Check[]> {
  const subject = account.name;
  const attempts = await Array.fromAsync(trialsOf(account), (trial) => attempt(trial, io));
  if (attempts.length === 0) {
    return [{ check: 'service', subject, ...skippedCheck('the embedded service starts with the daemon') }];
  }
  const byToken = attempts.find(({ credential }) => credential === 'token');
  const byPassword = attempts.find(({ credential }) => credential === 'password');
  return [
    ...attempts.map((made) => credentialCheck(account, made)),
    ...clockCheck(subject, attempts),
    ...(byToken?.ok === true ? [{ check: 'header prefix', subject, ...(await headerCheck(account, io)) }] : []),
    ...(byPassword === undefined ? [] : await productCheck(account, byPassword, io)),
  ];
}

function credentialCheck({ name }: Account, { credential, call, ok: accepted, result, code }: Attempt): Check {
  if (accepted) return { check: credential, subject: name, ...ok(`${call} ${result}`) };
  const about = { check: failedStep(code) ?? credential, subject: name };
  return { ...about, ...finding(result, FIXES[code ?? 'server_error'] ?? FIXES.server_error!) };
}

/** Step that failed before the service judged the credential; undefined if it judged. */
function failedStep(code: ServiceErrorCode | undefined): string | undefined {
  if (code === 'unauthorized' || code === 'forbidden') return undefined;
  const isUnreached = code === 'dns' || code === 'connection' || code === 'tls' || code === 'timeout';
  return isUnreached ? 'connection' : 'service';
}

const NETWORK = 'check the URL of the account, and the network and proxy of this machine';
const SECRET = 'write the right secret into the file that the configuration names';

const FIXES: Readonly<Partial<Record<ServiceErrorCode, string>>> = {
  dns: NETWORK,
  connection: NETWORK,
  tls: 'check the scheme of the URL, and set NODE_EXTRA_CA_CERTS to a private certificate authority',
  timeout: `${NETWORK}; raise client.timeout if the service is that slow`,
  unauthorized: SECRET,
  forbidden: `${SECRET}; it lacks the permission to read`,
  not_found: 'check the URL, the id of the account, and wire.product',
  malformed: 'set the base URL of the service, not of its console or a proxy',
  redirect: 'set the base URL to the address of the redirect',
  server_error: 'wait, and check the status page of the service',
};

function clockCheck(subject: string, attempts: readonly Attempt[]): readonly Check[] {
  const ahead = attempts.find(({ clockAheadMs }) => clockAheadMs !== undefined)?.clockAheadMs;
  if (ahead === undefined) return [];
  const about = { check: 'clock', subject };
  const difference = formatDuration(Math.abs(ahead));
  if (Math.abs(ahead) <= CLOCK_LIMIT_MS) {
    return [{ ...about, ...ok('agrees with the clock of the service') }];
  }
  const result = `the clock of the service is ${difference} ${ahead > 0 ? 'ahead of' : 'behind'} this machine’s`;
  return [{ ...about, ...finding(result, 'synchronize the clock of this machine (NTP)') }];
}

async function headerCheck(account: Account, io: CliIo): Promise<CheckResult> {
  const { headerPrefix } = account.wire;
  let found: string | undefined;
  try {
    found = await findHeaderPrefix(account, secretOf(account.messageApi!.token, account.messageApi!.tokenFile)!, io);
  } catch (error) {
    io.signal.throwIfAborted();
    return skippedCheck(errorMessage(error));
  }
  if (found === undefined) {
    return skippedCheck(`${headerPrefix} is not confirmed: no failed run has the service’s headers`);
  }
  if (found.toLowerCase() === headerPrefix.toLowerCase()) {
    return ok(`${headerPrefix}, as in the failed runs`);
  }
  const result = `the failed runs have ${found}, and the configuration has ${headerPrefix}`;
  return finding(result, `set wire.headerPrefix: ${found}`);
}

async function productCheck(account: Account, made: Attempt, io: CliIo): Promise<readonly Check[]> {
  const about = { check: 'product', subject: account.name };
  const { product } = account.wire;
  if (made.ok) return [{ ...about, ...ok(`${product}, as the service knows it`) }];
  if (!isOfAddress(made)) return [];
  const { password, passwordFile } = account.managementApi!;
  const found = await tryProducts(account, secretOf(password, passwordFile)!, io);
  if (isOfAddress(found.attempt)) {
    const result = `the service knows none of ${found.tried.join(', ')}`;
    return [{ ...about, ...finding(result, 'set wire.product to the name in its management paths') }];
  }
  const result = `the service knows ${found.product}, and the configuration has ${product}`;
  return [{ ...about, ...finding(result, `set wire.product: ${found.product}`) }];
}
