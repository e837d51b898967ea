/**
 * `opsd audit verify`: checks the chain of the file, and compares its end with a record that another party has seen.
 */
import { formatCount } from '#foundation/domain/counted.ts';
import type { AuditHead } from '#automate/ledger/audit-log.ts';
import { unreadableAudit, type AuditSource } from './audit-source.ts';
import { EXIT, textOption, UsageError, type Call } from '../command.ts';
import { request } from '../daemon-request.ts';
import { commandOf } from '../daemon-option.ts';
import { printable } from '../output.ts';

export async function verifyCommand(call: Call, source: AuditSource): Promise<number> {
  const { io } = call;
  const { log } = source;
  // Read before the file, since records that arrive during the read come after this head.
  const known = await knownHead(call, source);
  const after = headOption(call, 'after');
  let verdict;
  try {
    verdict = await log.verify({ known: known.head, after });
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (failure.code !== 'ENOENT' || known.head === undefined) throw unreadableAudit(log, failure);
    io.stdout.write(`${log.place} is missing. It had ${known.head.sequence} records according to ${known.source}.\n`);
    return EXIT.held;
  }
  const { records, head, finding, isTorn } = verdict;
  if (finding !== undefined) {
    io.stdout.write(`${finding.file}:${finding.line}: ${printable(finding.problem)}\n`);
    io.stdout.write(`${formatCount(records)} records before it are unchanged.\n`);
    // A daemon of another store has another log: that would be a false alarm.
    if (known.isOfDaemon === true)
      io.stdout.write(`The known record is ${known.source}, which must use the same store.\n`);
    return EXIT.held;
  }
  const end = head === undefined ? '' : `, head ${head.sequence}:${head.hash}`;
  io.stdout.write(
    `${log.place} is ${isTorn ? 'torn at its last line, and intact before it' : 'intact'}: ${formatCount(records)} records${end}\n`,
  );
  io.stdout.write(`Its end was compared with ${known.source}.\n`);
  if (isTorn)
    io.stdout.write(
      'Its last line has no end: a write in progress, or a crash. The daemon removes it at its next start.\n',
    );
  return EXIT.ok;
}

interface KnownHead {
  readonly head?: AuditHead;
  readonly source: string;
  readonly isOfDaemon?: true;
}

/** Head from the option, else from the running daemon, else from the store. */
async function knownHead({ io, values }: Call, { log, socketPath }: AuditSource): Promise<KnownHead> {
  const given = headOption({ values }, 'head');
  if (given !== undefined) return { head: given, source: '--head' };
  if (socketPath === undefined) return { source: 'no head: give one with --head' };
  try {
    const daemon = { socketPath, signal: io.signal, command: commandOf({ io, values }) };
    const { head } = await request(daemon, 'GET /api/v1/audit/head');
    return {
      head: head ?? undefined,
      source: `the head of the running daemon at ${socketPath}`,
      isOfDaemon: true,
    };
  } catch (error) {
    if (io.signal.aborted || textOption(values, 'file') !== undefined) throw error;
  }
  const head = await log.head();
  return { ...(head !== undefined && { head }), source: `the head in the store (no daemon responds at ${socketPath})` };
}

function headOption({ values }: Pick<Call, 'values'>, name: 'head' | 'after'): AuditHead | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (match === null) throw new UsageError(`--${name} must be the number of a record and its hash: 1234:9f3c…`);
  return { sequence: Number(match[1]), hash: match[2]! };
}
