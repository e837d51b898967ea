/** JSON Schema (draft 2020-12) of the configuration, for editors and other programs. */
import * as z from 'zod/mini';
import { policyTestSettings } from '#automate/policytest/settings.ts';
import { configSettings } from './settings.ts';

const RULES =
  'Unknown keys are errors. Durations are written 30s, 5m, 2h or 7d. Relative paths are relative to the file.';

export function configJsonSchema(): object {
  const references = '${env:NAME} and ${env:NAME:-default} inside a value are replaced by the environment.';
  return inputSchema(configSettings, 'Configuration of opsd', `${RULES} ${references}`);
}

/** Schema for files of `opsd test`. */
export function policyTestJsonSchema(): object {
  return inputSchema(policyTestSettings, 'Unit tests of policies, for opsd test', RULES);
}

/** Schema of the input: defaults are listed, not filled in. */
function inputSchema(settings: z.core.$ZodType, title: string, description: string): object {
  const { $schema, ...schema } = z.toJSONSchema(settings, { io: 'input', target: 'draft-2020-12' });
  return { $schema, title, description, ...schema };
}
