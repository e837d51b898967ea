/** A daemon with an account at an embedded service, and a record of every response of that service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Daemon } from '#app/options.ts';
import { auditPathOf, readAudit } from '#automate/ledger/audit-reader.ts';
import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import { systemClock } from '#foundation/platform/clock.ts';
import { httpSink, type HttpSink } from '../../support/http-sink.ts';
import { daemonOf } from '../../support/process-daemon.ts';
import { TEST_TOKEN } from '../../support/service.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { testEmulator } from '../../support/test-emulator.ts';
import { opsd, type Outcome, type TerminalOptions } from '../../cli/terminal.ts';

const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

interface Exchanged {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly body: string;
}

/** What the front sends instead of the response; `lose` resets the connection. */
type Change = 'lose' | { readonly body: string } | undefined;

export interface OperationsWorld {
  readonly service: Awaited<ReturnType<typeof testEmulator>>;
  /** Address that the daemon uses: it passes on to the service, and can lose or replace responses. */
  readonly front: HttpSink;
  /** Responses of the service to the daemon, oldest first. */
  readonly exchanged: Exchanged[];
  /** Replaces what the front does after the service has answered. */
  onAnswer(change: (answer: Exchanged) => Change): void;
  /** Resets the connections of requests before the service gets them. @returns ends it */
  onRequest(isLost: (request: { readonly url: string }) => boolean): () => void;
  readonly folder: string;
  readonly config: string;
  readonly tokenFile: string;
  readonly daemon: Daemon;
  /** Lines of the daemon's log. */
  readonly log: string[];
  /** Runs `opsd api …` over the unix socket. */
  api(words: readonly string[], options?: TerminalOptions): Promise<Outcome>;
  /** Posts to the API over TCP as a caller with a role. */
  post(role: Role, operation: string, body: unknown): Promise<Response>;
  /** Sends a request to the service itself. */
  direct(
    method: string,
    path: string,
    init?: { readonly headers?: Record<string, string>; readonly body?: string },
  ): Promise<string>;
  audit(): Promise<readonly AuditRecord[]>;
}

const BASIC = `Basic ${Buffer.from('user:password').toString('base64')}`;

export interface WorldOptions {
  /** More lines of the account in the configuration. */
  readonly account?: string;
  /** More lines of the configuration. */
  readonly more?: string;
  /** Replaces the token in the configuration. */
  readonly token?: string;
  /** Replaces options of the service. */
  readonly emulator?: Parameters<typeof testEmulator>[0];
  /** Called before the daemon starts. */
  readonly before?: (folder: string, service: OperationsWorld['service']) => void | Promise<void>;
}

export async function operationsWorld(options: WorldOptions = {}): Promise<OperationsWorld> {
  const service = await testEmulator({ control: true, time: 'virtual', startAt: Date.now(), ...options.emulator });
  const exchanged: Exchanged[] = [];
  let change: (answer: Exchanged) => Change = () => undefined;
  let isLost: (request: { readonly url: string }) => boolean = () => false;
  const front = await httpSink(async (request, response) => {
    if (isLost(request)) {
      response.socket?.resetAndDestroy();
      return;
    }
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
    const answer = await fetch(`${service.url}${request.url}`, {
      method: request.method,
      headers: headers as Record<string, string>,
      ...(request.body.length > 0 && { body: request.body }),
    }).catch(() => undefined);
    // The service may end before a request of the daemon's collectors.
    if (answer === undefined) {
      response.socket?.resetAndDestroy();
      return;
    }
    const body = await answer.text();
    const one = { method: request.method, url: request.url, status: answer.status, body };
    exchanged.push(one);
    const changed = change(one);
    if (changed === 'lose') {
      response.socket?.resetAndDestroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(changed?.body ?? body);
  });
  const folder = tempDir();
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${TEST_TOKEN}\n`, { mode: 0o600 });
  for (const role of ROLES) writeFileSync(join(folder, `${role}-token`), `${role}-secret`);
  await options.before?.(folder, service);
  const config = join(folder, 'opsd.yaml');
  writeFileSync(
    config,
    `
server:
  listen: "127.0.0.1:0"
  tokens: [${ROLES.map((role) => `{ name: a-${role}, role: ${role}, tokenFile: ${role}-token }`).join(', ')}]
storage: { sqlite: { path: opsd.db } }
engine: { killSwitchFile: stop }
accounts:
  - name: production
    messageApi: { url: "${front.url}", ${options.token ?? 'tokenFile: token'} }
    managementApi: { url: "${front.url}", accountId: acc-1, username: user, password: password }
    client: { requestsPerSecond: 1000, timeout: 5s }
${options.account ?? ''}
${options.more ?? ''}
`,
  );
  const log: string[] = [];
  const daemon = await daemonOf(config, { write: (line) => void log.push(line) });
  onTestFinished(() => daemon[Symbol.asyncDispose]());
  return {
    service,
    front,
    exchanged,
    onAnswer: (wanted) => void (change = wanted),
    onRequest(lost) {
      isLost = lost;
      return () => void (isLost = () => false);
    },
    folder,
    config,
    tokenFile,
    daemon,
    log,
    api: (words, terminal) =>
      opsd(['api', ...words, '--socket', daemon.socketPath], { clock: systemClock, ...terminal }),
    post: (role, operation, body) =>
      fetch(`${daemon.address}/api/v1/operations/${operation}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${role}-secret`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async direct(method, path, init = {}) {
      const isManagement = /^\/v2\/(?:msgsvc|search|vector)/.test(path);
      const authorization = isManagement ? BASIC : `Bearer ${TEST_TOKEN}`;
      const answer = await fetch(`${service.url}${path}`, {
        ...init,
        method,
        headers: { authorization, ...init.headers },
      });
      return answer.text();
    },
    async audit() {
      const records: AuditRecord[] = [];
      for await (const record of readAudit(auditPathOf(join(folder, 'opsd.db')))) {
        if (record.type.startsWith('operation.')) records.push(record);
      }
      return records;
    },
  };
}
