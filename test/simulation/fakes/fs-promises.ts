/** `node:fs/promises` without threads: each call is done at once, and its promise settles in the same turn. */
import * as fs from 'node:fs';

export * from 'node:fs/promises';

export async function open(path: string, flags = 'r', mode?: number) {
  const fd = fs.openSync(path, flags, mode);
  return {
    fd,
    writeFile: async (text: string) => fs.writeFileSync(fd, text),
    sync: async () => fs.fsyncSync(fd),
    stat: async () => fs.fstatSync(fd),
    read: async (buffer: Buffer, offset: number, length: number, position: number) => ({
      bytesRead: fs.readSync(fd, buffer, offset, length, position),
      buffer,
    }),
    createReadStream: ({ encoding }: { readonly encoding: BufferEncoding }) => [fs.readFileSync(fd, encoding)],
    close: async () => fs.closeSync(fd),
  };
}

export async function rename(from: string, to: string): Promise<void> {
  fs.renameSync(from, to);
}

export async function rm(path: string, options: fs.RmOptions): Promise<void> {
  fs.rmSync(path, options);
}
