/** Operations of the service that operators send by name, across a replacement of the engine. */
import { fileSwitch } from '#foundation/platform/file-switch.ts';
import type { ApiDeps } from '#operate/api/api-deps.ts';
import { performOperation } from '#operate/operations/perform.ts';
import type { OperationDeps } from '#operate/operations/ports.ts';
import { createTokenFiles } from '#operate/operations/token-file.ts';
import type { Generation } from './generation.ts';
import { budgetKnowledge } from './observation.ts';
import type { DaemonProcess } from './process.ts';

interface OperationsDeps extends Pick<DaemonProcess, 'gate' | 'events' | 'storage' | 'generation'> {
  /** Throws if another process works on the account now; absent if the store is not shared. */
  readonly requireHere?: (account: string) => void;
}

/** Files of tokens of this process: a file is in one rotation at a time. */
const tokenFiles = createTokenFiles();

/** A configuration is not replaced while an operation is in progress. */
export function operationsOf({ gate, generation, requireHere, ...deps }: OperationsDeps): ApiDeps['operate'] {
  return (operation, asked) =>
    gate.pass(asked.signal, () => {
      if (asked.account !== undefined) requireHere?.(asked.account);
      return performOperation(operation, asked, depsOf(generation(), deps));
    });
}

function depsOf(
  { config, accounts, policies, clock }: Generation,
  { events, storage: { ledger } }: Pick<OperationsDeps, 'events' | 'storage'>,
): OperationDeps {
  const { killSwitchFile } = config.engine;
  return {
    accounts: accounts.connections.map(({ account: { name, messageApi }, target: { accountId } }) => ({
      name,
      raw: accounts.clients.get(name)!.raw,
      usage: (api) => accounts.clients.get(name)!.usage(api),
      hasActionToken: messageApi?.actionToken !== undefined || messageApi?.actionTokenFile !== undefined,
      accountId,
      tokenFile: messageApi?.tokenFile,
      actionTokenFile: messageApi?.actionTokenFile,
    })),
    ledger,
    clock,
    async paused() {
      const stored = (await ledger.pauses()).find(({ scope }) => scope === 'engine');
      const reason = stored?.reason ?? policies.engine.unwrittenPauses().get('engine')?.reason;
      return reason ?? (killSwitchFile && fileSwitch(killSwitchFile));
    },
    reducedMode: (account) => policies.engine.reducedMode(account),
    budget: budgetKnowledge(config, ledger),
    onUnrecorded: (message) => events.emit({ type: 'store.failed', operation: 'end of an operation', message }),
    tokenFiles,
  };
}
