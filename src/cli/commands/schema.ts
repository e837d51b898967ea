import { packageVersion } from '#foundation/platform/package-version.ts';
import { EXIT, UsageError, type Command } from '../command.ts';
import { writeDocument } from '../output.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Print the schema of the configuration, of tests, seeds or the API.',
  options: {
    test: { type: 'boolean', help: 'Print the schema of policy tests instead.' },
    seed: { type: 'boolean', help: 'Print the schema of a seed of the emulator instead.' },
    api: { type: 'boolean', help: 'Print the OpenAPI document of the daemon’s API instead.' },
  },
  details: 'For editors: # yaml-language-server: $schema=./config.schema.json',
  examples: ['opsd schema > config.schema.json', 'opsd schema --api > api.openapi.json'],
  async run({ io, values }) {
    const [one, other] = ['api', 'test', 'seed'].filter((name) => values[name] === true);
    if (other !== undefined)
      throw new UsageError(`--${one} and --${other} print different documents; remove one of them`);
    writeDocument(io, await documentOf(one));
    return EXIT.ok;
  },
};

async function documentOf(option: string | undefined): Promise<object> {
  if (option === 'seed') return (await import('#emulator/control/seed-body.ts')).seedJsonSchema();
  if (option === 'api') return (await import('#operate/contract/document.ts')).apiDocument(packageVersion());
  const { configJsonSchema, policyTestJsonSchema } = await import('#config/json-schema.ts');
  return option === 'test' ? policyTestJsonSchema() : configJsonSchema();
}
