import type { AuditRecord } from '#automate/ledger/audit-log.ts';
import type { AuditReader } from '#automate/ledger/audit-reading.ts';
import { auditSentence } from '#operate/show/audit.ts';
import { table } from '#foundation/markup/cell.ts';
import { shortTable } from '#operate/show/text.ts';
import { findAudit, unreadableAudit } from './audit-source.ts';
import { EXIT, textOption, UsageError, valueOption, type Call, type Command, type OptionValues } from '../command.ts';
import { CONFIG_OPTION } from '../config-file.ts';
import { OUTPUT_OPTION, outputFormat, textTable, writeData } from '../output.ts';
import { SOCKET_OPTION } from '../daemon-option.ts';
import { SINCE_OPTION, timeOption } from '../list-options.ts';

export const auditCommand: Command = {
  name: 'audit',
  summary: 'Show the audit log, or check it for changes and gaps.',
  operands: { usage: '[verify]', min: 0, max: 1, names: ['verify'] },
  options: {
    policy: valueOption('NAME', 'Only records of this policy.', { names: 'policy' }),
    since: SINCE_OPTION,
    id: valueOption('ID', 'Records that name this entry, run, plan, campaign or intent.'),
    head: valueOption('N:HASH', 'verify: an earlier head, as in the log of the daemon.'),
    after: valueOption('N:HASH', 'verify: the last record of the segments that were moved away.'),
    file: valueOption('FILE', 'The audit log; default: the one next to the store.'),
    config: CONFIG_OPTION,
    socket: SOCKET_OPTION,
    output: { ...OUTPUT_OPTION, value: 'table|json|yaml|jsonl' },
  },
  details:
    'Reads the file next to the store and its segments; the daemon may run. verify checks the chain of hashes from the ' +
    'first line to the last, and compares its end with the head in the store. If it finds a fault, it prints the ' +
    'line and exits with 3.',
  examples: ['opsd audit --since 2h --policy resume-billing', 'opsd audit verify'],
  async run(call) {
    const [command] = call.positionals;
    if (command !== undefined && command !== 'verify')
      throw new UsageError(`the operand of audit must be verify or absent, not '${command}'`);
    const source = await findAudit(call);
    if (source === undefined) return EXIT.failed;
    if (command === undefined) return show(call, source.log);
    const { verifyCommand } = await import('./audit-verify.ts');
    return verifyCommand(call, source);
  },
};

async function show({ io, values }: Call, log: AuditReader): Promise<number> {
  const asLines = textOption(values, 'output') === 'jsonl';
  const format = asLines ? undefined : outputFormat(values);
  const isWanted = filterOf(values, io.clock.now());
  const { canonical } = await import('#automate/ledger/audit-chain.ts');
  const records: AuditRecord[] = [];
  for await (const record of readRecords(log)) {
    if (!isWanted(record)) continue;
    if (asLines) io.stdout.write(`${canonical(record)}\n`);
    else records.push(record);
  }
  if (format === 'table') io.stdout.write(tableOf(records));
  else if (format !== undefined) await writeData(io, format, { records });
  return EXIT.ok;
}

async function* readRecords(log: AuditReader): AsyncGenerator<AuditRecord> {
  try {
    yield* log.records();
  } catch (error) {
    throw unreadableAudit(log, error as NodeJS.ErrnoException);
  }
}

function filterOf(values: OptionValues, now: number): (record: AuditRecord) => boolean {
  const policy = textOption(values, 'policy');
  const id = textOption(values, 'id');
  const since = timeOption(values, 'since', now);
  return (record) =>
    (policy === undefined || record.policy === policy) &&
    (since === undefined || Date.parse(record.time) >= since) &&
    (id === undefined ||
      Object.values(record)
        .flat()
        .some((value) => String(value) === id));
}

/** The fields of a record are in the other formats. */
function tableOf(records: readonly AuditRecord[]): string {
  const [header = [], ...rows] = shortTable(
    table<AuditRecord>({
      caption: '',
      rows: records,
      empty: '',
      columns: {
        RECORD: (record) => record.sequence,
        TIME: (record) => record.time,
        TYPE: (record) => record.type,
        WHAT: auditSentence,
      },
    }),
  );
  return textTable(header, rows);
}
