import { packageVersion } from '#foundation/platform/package-version.ts';
import { EXIT, UsageError, type Command } from '../command.ts';
import { writeDocument } from '../output.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Print the schema of the configuration, of tests or of the API.',
  options: {
    test: { type: 'boolean', help: 'Print the schema of policy tests instead.' },
    api: { type: 'boolean', help: 'Print the OpenAPI document of the daemon’s API instead.' },
  },
  details: 'For editors: # yaml-language-server: $schema=./config.schema.json',
  examples: ['opsd schema > config.schema.json', 'opsd schema --api > api.openapi.json'],
  async run({ io, values }) {
    if (values['api'] === true) {
      if (values['test'] === true)
        throw new UsageError('--api and --test print different documents; remove one of them');
      const { apiDocument } = await import('#operate/contract/document.ts');
      writeDocument(io, apiDocument(packageVersion()));
      return EXIT.ok;
    }
    const { configJsonSchema, policyTestJsonSchema } = await import('#config/json-schema.ts');
    writeDocument(io, values['test'] === true ? policyTestJsonSchema() : configJsonSchema());
    return EXIT.ok;
  },
};
