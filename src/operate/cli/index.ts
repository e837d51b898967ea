/** Commands, in the order of the help. */
import { applyCommand } from './apply.ts';
import { approveCommand } from './approve.ts';
import { auditCommand } from './audit.ts';
import { checkCommand } from './check.ts';
import type { Command } from './command.ts';
import { demoCommand } from './demo.ts';
import { emulatorCommand } from './emulator.ts';
import { explainCommand } from './explain.ts';
import { metricsCommand } from './metrics.ts';
import { pauseCommand } from './pause.ts';
import { planCommand } from './plan.ts';
import { rejectCommand } from './reject.ts';
import { reloadCommand } from './reload.ts';
import { runCommand } from './run.ts';
import { schemaCommand } from './schema.ts';
import { stateCommand } from './state.ts';
import { testCommand } from './test.ts';
import { traceCommand } from './trace.ts';
import { unpauseCommand } from './unpause.ts';
import { versionCommand } from './version.ts';

/** All commands except `help`, which needs this list (help.ts). */
export const COMMANDS: readonly Command[] = [
  runCommand,
  demoCommand,
  emulatorCommand,
  checkCommand,
  testCommand,
  planCommand,
  applyCommand,
  approveCommand,
  rejectCommand,
  explainCommand,
  pauseCommand,
  unpauseCommand,
  reloadCommand,
  auditCommand,
  stateCommand,
  traceCommand,
  metricsCommand,
  schemaCommand,
  versionCommand,
];
