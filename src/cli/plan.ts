import type { Plan } from '../domain/plan.ts';
import { EXIT, type Call, type Command } from './command.ts';
import { CONFIG_OPTION } from './config-file.ts';
import { findSocket, SOCKET_OPTION } from './socket-option.ts';
import { OUTPUT_OPTION, outputFormat, usesColor, writeData } from './output.ts';

export const planCommand: Command = {
  name: 'plan',
  summary: 'Show what policies would do now; nothing is done.',
  operands: { usage: '[POLICY…]', min: 0, max: Infinity },
  options: {
    config: CONFIG_OPTION,
    socket: SOCKET_OPTION,
    output: OUTPUT_OPTION,
  },
  details:
    'Asks the running daemon; without a policy, for all of them. Exit code 0 when there is nothing to do, 2 when there\n' +
    'are changes, 3 when a guard holds them, 4 when a guard aborted, 1 on an error; of several policies the highest.',
  async run(call) {
    const format = outputFormat(call.values);
    const socketPath = await findSocket(call);
    if (socketPath === undefined) return EXIT.failed;
    const { requestPlan, requestPolicies } = await import('./daemon-client.ts');
    const daemon = { socketPath, signal: call.io.signal };
    const names = call.positionals.length > 0 ? [...new Set(call.positionals)] : await requestPolicies(daemon);
    // One after the other: each reads the service, within the same limits of requests.
    const plans: Plan[] = [];
    for (const name of names) plans.push(await requestPlan(name, daemon));
    await show(call, format, plans);
    return Math.max(EXIT.ok, ...plans.map((plan) => EXIT_OF_STATE[plan.state]));
  },
};

const EXIT_OF_STATE: Readonly<Record<Plan['state'], number>> = {
  nothing: EXIT.ok,
  changes: EXIT.changes,
  held: EXIT.held,
  aborted: EXIT.aborted,
};

async function show({ io }: Call, format: 'table' | 'json' | 'yaml', plans: readonly Plan[]): Promise<void> {
  if (format !== 'table') return writeData(io, format, { plans });
  if (plans.length === 0) {
    io.stderr.write('The daemon has no policies.\n');
    return;
  }
  const { planText } = await import('./plan-text.ts');
  io.stdout.write(plans.map((plan) => planText(plan, { color: usesColor(io.stdout, io.env) })).join('\n'));
}
