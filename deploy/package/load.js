/**
 * Loads the program from the bundle. Node's compile cache has a module as it was before it ran: each start compiles the
 * functions that it calls. This one has them: it is made after the start, one file for each command, in the folder of
 * Node's cache. Without that folder, Node loads the bundle by itself.
 */
import { dirname, join } from 'node:path';

const { existsSync, readFileSync, renameSync, writeFileSync } = process.getBuiltinModule('node:fs');
const { createRequire, getCompileCacheDir } = process.getBuiltinModule('node:module');
const { Script, constants } = process.getBuiltinModule('node:vm');
const { crc32 } = process.getBuiltinModule('node:zlib');

/** Long enough for a start. Later, V8 forgets functions that ran only then. */
const SAVED_AFTER_MS = 5_000;
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) { ', '\n})'];

/** Runs the program with the cache of the command. */
export function start() {
  const cached = getCompileCacheDir();
  const command = /^[a-z-]+$/.exec(process.argv[2] ?? '')?.[0] ?? 'opsd';
  load(import.meta.dirname, 'main.cjs', cached === undefined ? undefined : join(cached, `${command}.parts`));
}

/**
 * Returns `module.exports` of a file of the bundle.
 *
 * @param folder of the bundle
 * @param cache file; undefined for none
 */
export function load(folder, name, cache) {
  const required = createRequire(join(folder, name));
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
    const filename = join(folder, part);
    const source = readFileSync(filename);
    const sum = crc32(source);
    const found = kept.get(part);
    const script = new Script(WRAPPER.join(source.toString()), {
      filename,
      columnOffset: -WRAPPER[0].length,
      cachedData: found?.sum === sum ? found.code : undefined,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    if (script.cachedDataRejected !== false) isComplete = false;
    loaded.set(part, { sum, script });
    script.runInThisContext()(module.exports, requireFrom, module, filename, dirname(filename));
    return module.exports;
  }

  function requireFrom(id) {
    return id.startsWith('./') ? partOf(id.slice(2)) : required(id);
  }

  function save() {
    process.off('exit', saveAtEnd);
    if (!isComplete) {
      const ofThisStart = [...loaded].map(([part, { sum, script }]) => [
        part,
        { sum, code: script.createCachedData() },
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

/**
 * The file: the checksum of all that follows, a line of JSON with name, checksum of the source, and length of each part,
 * and the code of the parts. Returns no parts if there is no such file, or if it is damaged.
 */
function readCache(file) {
  const parts = new Map();
  try {
    const bytes = readFileSync(file);
    const content = bytes.subarray(4);
    if (bytes.readUInt32LE() !== crc32(content)) return parts;
    let at = content.indexOf('\n') + 1;
    for (const [part, sum, length] of JSON.parse(content.toString('utf8', 0, at))) {
      parts.set(part, { sum, code: content.subarray(at, at + length) });
      at += length;
    }
  } catch {
    // There is none yet.
  }
  return parts;
}

function writeCache(file, parts) {
  try {
    const index = [...parts].map(([part, { sum, code }]) => [part, sum, code.length]);
    const codes = [...parts.values()].map(({ code }) => code);
    const content = Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...codes]);
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc32(content));
    // Another process reads all of it or nothing.
    const written = `${file}.${process.pid}`;
    writeFileSync(written, Buffer.concat([sum, content]), { mode: 0o600 });
    renameSync(written, file);
  } catch {
    // The disk may be full; the next start then compiles again.
  }
}
