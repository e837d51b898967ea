/** Files that a command line names. */
import { readFileSync } from 'node:fs';
import { CommandError, type Call } from './command.ts';

/** Reads the body of a message from a file, or from stdin for `-`. */
export async function bytesOf({ io }: Call, file: string): Promise<Buffer> {
  return file === '-' ? Buffer.from(await io.readInput()) : readWhole(file);
}

export function readWhole(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, {
      cause: error,
    });
  }
}
