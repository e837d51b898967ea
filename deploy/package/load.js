/**
 * Loads the program from the bundle. Node's compile cache has a module as it was before it ran: each start compiles the
 * functions that it calls. This one has them: it is made after the start, one file for each command, in the folder of
 * Node's cache. Without that folder, Node loads the bundle by itself.
 */
import { join, sep } from 'node:path';

const { existsSync, readFileSync, renameSync, statSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { createRequire, getCompileCacheDir } = process.getBuiltinModule('node:module');
const { deserialize, serialize } = process.getBuiltinModule('node:v8');
const { Script } = process.getBuiltinModule('node:vm');
const { crc32 } = process.getBuiltinModule('node:zlib');

/** Long enough for a start. Later, V8 forgets functions that ran only then. */
const SAVED_AFTER_MS = 5_000;
const CHECKSUM_BYTES = 4;
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) { ', '\n})'];

/** Runs the program with the cache of the command. Returns what its main module exports. */
export function start() {
  const cached = getCompileCacheDir();
  const command = /^[a-z-]+$/.exec(process.argv[2] ?? '')?.[0] ?? 'opsd';
  return load(import.meta.dirname, 'main.cjs', cached === undefined ? undefined : join(cached, `${command}.parts`));
}

/**
 * Returns `module.exports` of a file of the bundle.
 *
 * @param folder of the bundle
 * @param cache file; undefined for none
 */
export function load(folder, name, cache) {
  const at = join(folder, sep);
  const required = createRequire(at + name);
  if (cache === undefined) return required(`./${name}`);

  const kept = readCache(cache);
  const loaded = new Map();
  const modules = new Map();
  let isComplete = true;

  function partOf(part) {
    const known = modules.get(part);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    modules.set(part, module);
    const filename = at + part;
    // Before the source is read: a change in between makes the next start read it again.
    const state = stateOf(filename);
    const found = kept.get(part);
    const script = new Script(WRAPPER.join(readFileSync(filename, 'utf8')), {
      filename,
      columnOffset: -WRAPPER[0].length,
      cachedData: found?.state === state ? found.code : undefined,
    });
    if (script.cachedDataRejected !== false) isComplete = false;
    loaded.set(part, { state, script });
    script.runInThisContext()(module.exports, requireFrom, module, filename, folder);
    return module.exports;
  }

  function requireFrom(id) {
    return id.startsWith('./') ? partOf(id.slice(2)) : required(id);
  }

  function save() {
    process.off('exit', saveAtEnd);
    if (!isComplete) {
      const ofThisStart = [...loaded].map(([part, { state, script }]) => [
        part,
        { state, code: script.createCachedData() },
      ]);
      const ofOthers = [...kept].filter(([part]) => existsSync(join(folder, part)));
      writeCache(cache, new Map([...ofOthers, ...ofThisStart]));
    }
    kept.clear();
    loaded.clear();
  }

  function saveAtEnd(exitCode) {
    if (exitCode === 0) save();
  }

  process.once('exit', saveAtEnd);
  setTimeout(save, SAVED_AFTER_MS).unref();
  return partOf(name);
}

/** Returns what differs after each write of a file, also if its times are set. */
function stateOf(path) {
  const { size, ino, ctimeMs } = statSync(path);
  return `${size} ${ino} ${ctimeMs}`;
}

/** Returns the map that was written. It is empty if there is no such file, or if it is damaged. */
function readCache(file) {
  try {
    const bytes = readFileSync(file);
    const parts = bytes.subarray(CHECKSUM_BYTES);
    if (crc32(parts) === bytes.readUInt32LE()) return deserialize(parts);
  } catch {
    // There is none yet, or it is damaged.
  }
  return new Map();
}

/** The file: the checksum of all that follows, and the map. */
function writeCache(file, parts) {
  try {
    const bytes = serialize(parts);
    const checksum = Buffer.alloc(CHECKSUM_BYTES);
    checksum.writeUInt32LE(crc32(bytes));
    // Another process reads all of it or nothing.
    const written = `${file}.${process.pid}`;
    writeFileSync(written, Buffer.concat([checksum, bytes]), { mode: 0o600 });
    renameSync(written, file);
  } catch {
    // The disk may be full; the next start then compiles again.
  }
}
