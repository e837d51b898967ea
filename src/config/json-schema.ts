/** JSON Schema (draft 2020-12) of the configuration, for editors and other programs. */
import * as z from 'zod/mini';
import { policyTestSettings } from '#automate/policytest/settings.ts';
import { configSettings } from './settings.ts';

/** Schema of the input: defaults are listed, not filled in. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(configSettings, { io: 'input', target: 'draft-2020-12' });
  return {
    $schema,
    title: 'Configuration of opsd',
    description:
      'Unknown keys are errors. Durations are written 30s, 5m, 2h or 7d. Relative paths are relative to the file. ' +
      '${env:NAME} and ${env:NAME:-default} inside a value are replaced by the environment.',
    ...schema,
  };
}

/** Schema for files of `opsd test`. */
export function policyTestJsonSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(policyTestSettings, { io: 'input', target: 'draft-2020-12' });
  return {
    $schema,
    title: 'Unit tests of policies, for opsd test',
    description:
      'Unknown keys are errors. Durations are written 30s, 5m, 2h or 7d. Relative paths are relative to the file.',
    ...schema,
  };
}

/** Text of `config.schema.json`. */
export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
