/** Accounts and configuration of the replicas' benchmark, and the messages between it and its service. */

export interface BenchAccount {
  readonly name: string;
  readonly token: string;
}

export interface ServiceRequest {
  /** Log entries per second from now on; absent: as before. */
  readonly rate?: number;
  /** Log entries of the past, spread over this time. The log must be empty. */
  readonly past?: { readonly entries: number; readonly ms: number };
}

/** First message of the service. */
export interface ServiceStart {
  readonly url: string;
}

/** Response to a request: number of log entries of each account. */
export interface ServiceResponse {
  readonly logged: readonly number[];
}

export function accountsOf(count: number): readonly BenchAccount[] {
  return Array.from({ length: count }, (_, at) => ({ name: `account-${at + 1}`, token: `token-${at + 1}` }));
}

export interface DaemonSettings {
  readonly listen: string;
  readonly storage: object;
  readonly service: string;
  readonly accounts: readonly BenchAccount[];
  /** Interval of reading each log. Absent: client and collectors have their default settings. */
  readonly logsEvery: string | undefined;
}

/** Returns a configuration in which each account has a policy in mode enforce. JSON is YAML. */
export function daemonConfig({ listen, storage, service, accounts, logsEvery }: DaemonSettings): string {
  return JSON.stringify({
    server: { listen },
    storage,
    accounts: accounts.map(({ name, token }) => ({
      name,
      messageApi: { url: service, token },
      ...(logsEvery !== undefined && {
        client: { requestsPerSecond: 100, requestsPerDay: 10_000_000 },
        collectors: { logs: { every: logsEvery, lag: '1s' } },
      }),
    })),
    policies: accounts.map(({ name }) => ({
      name: `resume-${name}`,
      account: name,
      mode: 'enforce',
      every: '30s',
      select: { resource: 'workflow-dlq', anyLabel: ['billing'] },
      action: { type: 'workflow-dlq.resume' },
    })),
  });
}
