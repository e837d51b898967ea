import { EXIT, type Command } from './command.ts';
import { writeData } from './output.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Print the JSON Schema of the configuration.',
  options: {},
  details: 'For editors: # yaml-language-server: $schema=./config.schema.json',
  async run({ io }) {
    const { configJsonSchema } = await import('../config/json-schema.ts');
    await writeData(io, 'json', configJsonSchema());
    return EXIT.ok;
  },
};
