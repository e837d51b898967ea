/** Commands, in the order of the help. A command is loaded when it is used: until then only its name is known. */
import type { Command } from './command.ts';

export interface ListedCommand extends Pick<Command, 'name'> {
  readonly load: () => Promise<Command>;
}

/** Nouns of two-word commands, for the help. */
export const NOUNS: Readonly<Record<string, string>> = {
  account: 'Account of the service',
  dlq: 'Failed runs and messages',
  'flow-control': 'Flow-control keys',
  incidents: 'Failures with a common cause',
  indexes: 'Search indexes',
  messages: 'Messages and runs',
  state: 'Store of the daemon',
  'url-groups': 'URL Groups',
  workflows: 'Workflows',
};

/** Commands by what someone wants to do. */
export const COMMAND_GROUPS: Readonly<Record<string, readonly ListedCommand[]>> = {
  Start: [
    { name: 'demo', load: async () => (await import('./commands/demo.ts')).demoCommand },
    { name: 'init', load: async () => (await import('./commands/init.ts')).initCommand },
    { name: 'check', load: async () => (await import('./commands/check.ts')).checkCommand },
    { name: 'run', load: async () => (await import('./commands/run.ts')).runCommand },
    { name: 'doctor', load: async () => (await import('./commands/doctor.ts')).doctorCommand },
  ],
  'Find out what is wrong': [
    { name: 'status', load: async () => (await import('./commands/status.ts')).statusCommand },
    { name: 'incidents', load: async () => (await import('./commands/incidents.ts')).incidentsCommand },
    { name: 'incidents list', load: async () => (await import('./commands/incidents.ts')).incidentsListCommand },
    { name: 'incidents show', load: async () => (await import('./commands/incidents.ts')).incidentsShowCommand },
    { name: 'incidents acknowledge', load: async () => (await import('./commands/incidents.ts')).acknowledgeCommand },
    { name: 'incidents snooze', load: async () => (await import('./commands/incidents.ts')).snoozeCommand },
    { name: 'dlq list', load: async () => (await import('./commands/dlq-list.ts')).dlqListCommand },
    { name: 'dlq show', load: async () => (await import('./commands/dlq-show.ts')).dlqShowCommand },
    { name: 'messages list', load: async () => (await import('./commands/messages.ts')).messagesListCommand },
    { name: 'messages show', load: async () => (await import('./commands/messages.ts')).messagesShowCommand },
    {
      name: 'flow-control list',
      load: async () => (await import('./commands/flow-control.ts')).flowControlListCommand,
    },
    operation('flow-control show'),
    { name: 'explain', load: async () => (await import('./commands/explain.ts')).explainCommand },
    { name: 'trace', load: async () => (await import('./commands/trace.ts')).traceCommand },
  ],
  'Repair what failed': [
    { name: 'dlq resume', load: async () => (await import('./commands/dlq-manual.ts')).dlqResumeCommand },
    { name: 'dlq republish', load: async () => (await import('./commands/dlq-manual.ts')).dlqRepublishCommand },
    { name: 'dlq retrigger', load: async () => (await import('./commands/dlq-retrigger.ts')).dlqRetriggerCommand },
    { name: 'dlq delete', load: async () => (await import('./commands/dlq-manual.ts')).dlqDeleteCommand },
    { name: 'dlq prune', load: async () => (await import('./commands/dlq-manual.ts')).dlqPruneCommand },
    { name: 'plan', load: async () => (await import('./commands/plan.ts')).planCommand },
    { name: 'apply', load: async () => (await import('./commands/apply.ts')).applyCommand },
    { name: 'approve', load: async () => (await import('./commands/decide.ts')).approveCommand },
    { name: 'reject', load: async () => (await import('./commands/decide.ts')).rejectCommand },
    { name: 'cancel', load: async () => (await import('./commands/cancel.ts')).cancelCommand },
    { name: 'deploy', load: async () => (await import('./commands/deploy.ts')).deployCommand },
    { name: 'pause', load: async () => (await import('./commands/pause.ts')).pauseCommand },
    { name: 'unpause', load: async () => (await import('./commands/unpause.ts')).unpauseCommand },
  ],
  'Change the service': [
    operation('messages publish'),
    operation('workflows trigger'),
    operation('url-groups list'),
    operation('url-groups show'),
    operation('url-groups add-endpoints'),
    operation('account stats'),
    operation('account update-budget'),
    operation('account set-plan'),
    operation('account rotate-token'),
    operation('account move-to-team'),
    operation('indexes create'),
    operation('indexes show'),
    operation('indexes rename'),
    operation('indexes transfer'),
    operation('indexes stats'),
    { name: 'api', load: async () => (await import('./commands/api.ts')).apiCommand },
  ],
  'Maintain the daemon': [
    { name: 'reload', load: async () => (await import('./commands/reload.ts')).reloadCommand },
    { name: 'audit', load: async () => (await import('./commands/audit.ts')).auditCommand },
    { name: 'state', load: async () => (await import('./commands/state.ts')).stateCommand },
    { name: 'state copy', load: async () => (await import('./commands/state-copy.ts')).stateCopyCommand },
  ],
  Test: [
    { name: 'emulator', load: async () => (await import('./commands/emulator.ts')).emulatorCommand },
    { name: 'record', load: async () => (await import('./commands/record.ts')).recordCommand },
    { name: 'test', load: async () => (await import('./commands/test.ts')).testCommand },
  ],
  'Look something up': [
    { name: 'metrics', load: async () => (await import('./commands/metrics.ts')).metricsCommand },
    { name: 'schema', load: async () => (await import('./commands/schema.ts')).schemaCommand },
    { name: 'completion', load: async () => (await import('./commands/completion.ts')).completionCommand },
    { name: 'version', load: async () => (await import('./commands/version.ts')).versionCommand },
  ],
};

/** All commands except `help`, which needs this list (help.ts). */
export const COMMANDS: readonly ListedCommand[] = Object.values(COMMAND_GROUPS).flat();

function operation(name: string): ListedCommand {
  return { name, load: async () => (await import('./commands/operation-commands.ts')).operationCommandNamed(name) };
}
