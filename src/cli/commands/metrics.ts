import { EXIT, UsageError, type Command } from '../command.ts';
import { OUTPUT_OPTION, outputFormat, terminalColumns, writeData } from '../output.ts';

export const metricsCommand: Command = {
  name: 'metrics',
  summary: 'Print the catalogue of metrics.',
  details: 'On a terminal, the table fits its width; elsewhere each metric is one line.',
  options: { output: OUTPUT_OPTION, markdown: { type: 'boolean', help: 'Print the lists of docs/metrics.md.' } },
  examples: ['opsd metrics', 'opsd metrics -o json'],
  async run({ io, values }) {
    const format = outputFormat(values);
    if (values['markdown'] === true) {
      if (values['output'] !== undefined) throw new UsageError('--markdown and --output exclude each other');
      const { catalogMarkdown } = await import('#observe/catalog/text.ts');
      io.stdout.write(catalogMarkdown());
    } else if (format === 'table') {
      const { catalogLines, catalogScreen } = await import('#observe/catalog/text.ts');
      io.stdout.write(io.stdout.isTTY === true ? catalogScreen(terminalColumns(io.stdout)) : catalogLines());
    } else {
      await writeData(io, format, { metrics: await catalogue() });
    }
    return EXIT.ok;
  },
};

async function catalogue() {
  const { labelNamesOf, METRIC_NAMES, specOf } = await import('#observe/catalog/catalog.ts');
  return METRIC_NAMES.map((name) => {
    const { type, unit, help, heading, source, debug = false } = specOf(name);
    return { name, type, labels: labelNamesOf(name), unit, help, family: heading, source, debug };
  });
}
