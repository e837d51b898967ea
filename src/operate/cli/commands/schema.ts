import { EXIT, type Command } from '../command.ts';
import { writeDocument } from '../output.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Print the JSON Schema of the configuration, or of policy tests.',
  options: { test: { type: 'boolean', help: 'Print the schema of policy tests instead.' } },
  details: 'For editors: # yaml-language-server: $schema=./config.schema.json',
  examples: ['opsd schema > config.schema.json', 'opsd schema --test > policy-test.schema.json'],
  async run({ io, values }) {
    const { configJsonSchema, policyTestJsonSchema } = await import('#config/json-schema.ts');
    writeDocument(io, values['test'] === true ? policyTestJsonSchema() : configJsonSchema());
    return EXIT.ok;
  },
};
