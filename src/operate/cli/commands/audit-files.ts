/** The files of an audit log. */
import { CommandError } from '../command.ts';

export interface AuditFiles {
  readonly audit: string;
  /** Absent if only the log was named. */
  readonly store?: string;
}

export function unreadable(path: string, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  const hint =
    error.code === 'ENOENT'
      ? 'the daemon creates it at its start; name another file with --file'
      : 'run the command as the daemon’s user';
  return new CommandError(`${path} cannot be read (${error.code}): ${hint}.`, { cause: error });
}
