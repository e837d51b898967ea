/** Commands, in the order of the help. */
import { apiCommand } from './commands/api.ts';
import { applyCommand } from './commands/apply.ts';
import { approveCommand } from './commands/approve.ts';
import { auditCommand } from './commands/audit.ts';
import { cancelCommand } from './commands/cancel.ts';
import { checkCommand } from './commands/check.ts';
import type { Command } from './command.ts';
import { completionCommand } from './commands/completion.ts';
import { demoCommand } from './commands/demo.ts';
import { dlqDeleteCommand } from './commands/dlq-delete.ts';
import { dlqPruneCommand } from './commands/dlq-prune.ts';
import { dlqResumeCommand } from './commands/dlq-resume.ts';
import { doctorCommand } from './commands/doctor.ts';
import { emulatorCommand } from './commands/emulator.ts';
import { dlqListCommand } from './commands/dlq-list.ts';
import { dlqShowCommand } from './commands/dlq-show.ts';
import { explainCommand } from './commands/explain.ts';
import { flowControlListCommand } from './commands/flow-control.ts';
import { incidentsAcknowledgeCommand } from './commands/incidents-acknowledge.ts';
import { incidentsShowCommand } from './commands/incidents-show.ts';
import { incidentsCommand, incidentsListCommand } from './commands/incidents.ts';
import { initCommand } from './commands/init.ts';
import { messagesListCommand, messagesShowCommand } from './commands/messages.ts';
import { metricsCommand } from './commands/metrics.ts';
import { OPERATION_COMMANDS } from './commands/operation-commands.ts';
import { pauseCommand } from './commands/pause.ts';
import { planCommand } from './commands/plan.ts';
import { rejectCommand } from './commands/reject.ts';
import { reloadCommand } from './commands/reload.ts';
import { runCommand } from './commands/run.ts';
import { schemaCommand } from './commands/schema.ts';
import { stateCommand } from './commands/state.ts';
import { statusCommand } from './commands/status.ts';
import { testCommand } from './commands/test.ts';
import { traceCommand } from './commands/trace.ts';
import { unpauseCommand } from './commands/unpause.ts';
import { versionCommand } from './commands/version.ts';

/** Nouns of two-word commands, for the help. */
export const NOUNS: Readonly<Record<string, string>> = {
  account: 'Account of the service',
  dlq: 'Failed runs and messages',
  'flow-control': 'Flow-control keys',
  incidents: 'Failures with a common cause',
  indexes: 'Search indexes',
  messages: 'Messages and runs',
  'url-groups': 'URL Groups',
  workflows: 'Workflows',
};

/** All commands except `help`, which needs this list (help.ts). */
export const COMMANDS: readonly Command[] = [
  runCommand,
  demoCommand,
  emulatorCommand,
  initCommand,
  checkCommand,
  testCommand,
  doctorCommand,
  statusCommand,
  planCommand,
  applyCommand,
  approveCommand,
  rejectCommand,
  cancelCommand,
  explainCommand,
  pauseCommand,
  unpauseCommand,
  reloadCommand,
  auditCommand,
  stateCommand,
  traceCommand,
  apiCommand,
  dlqResumeCommand,
  dlqDeleteCommand,
  dlqPruneCommand,
  incidentsCommand,
  incidentsListCommand,
  incidentsShowCommand,
  incidentsAcknowledgeCommand,
  dlqListCommand,
  dlqShowCommand,
  flowControlListCommand,
  messagesListCommand,
  messagesShowCommand,
  ...OPERATION_COMMANDS,
  metricsCommand,
  schemaCommand,
  completionCommand,
  versionCommand,
];
