/** The files of an audit log. */
import { CommandError } from './command.ts';

export interface AuditFiles {
  readonly audit: string;
  /** Absent where only the log was named. */
  readonly store?: string;
}

export function unreadable(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  const hint =
    error.code === 'ENOENT'
      ? 'the daemon makes it when it starts; --file names another'
      : 'run the command as the user of the daemon';
  return new CommandError(`${path} cannot be read (${error.code}): ${hint}.`, { cause: error });
}
