/**
 * Loads the program from the bundle. Node's compile cache has a module as it was before it ran: each start compiles the
 * functions that it calls. This one has them: it is made after the start, one file for each command, in the folder of
 * Node's cache. It has the sources as well, because a start would read a hundred files. Without that folder, Node loads
 * the bundle by itself.
 */
import { join, sep } from 'node:path';

const { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, renameSync, statSync, writeFileSync } =
  process.getBuiltinModule('node:fs');
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
    const isUnchanged = found?.state === state;
    const source = isUnchanged ? found.source : WRAPPER.join(readFileSync(filename, 'utf8'));
    const script = new Script(source, {
      filename,
      columnOffset: -WRAPPER[0].length,
      cachedData: isUnchanged ? found.code : undefined,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    if (script.cachedDataRejected !== false) isComplete = false;
    loaded.set(part, { state, source, script });
    script.runInThisContext()(module.exports, requireFrom, module, filename, folder);
    return module.exports;
  }

  function requireFrom(id) {
    return id.startsWith('./') ? partOf(id.slice(2)) : required(id);
  }

  function save() {
    process.off('exit', saveAtEnd);
    if (!isComplete) {
      const ofThisStart = [...loaded].map(([part, { script, ...file }]) => [
        part,
        { ...file, code: script.createCachedData() },
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

/**
 * The file: four numbers, which are the checksum of all that follows and the lengths of three sections; JSON with name,
 * state of the file, and lengths of source and code of each part; these sources; these codes. Returns no parts if there
 * is no such file, or if it is damaged.
 */
function readCache(file) {
  const parts = new Map();
  try {
    // In sections, so that the sources are in memory only as text.
    const [index, sources, codes] = sectionsOf(file);
    const text = sources.toString();
    let [ofText, ofCodes] = [0, 0];
    for (const [part, state, ofSource, ofCode] of JSON.parse(index.toString())) {
      const source = text.slice(ofText, (ofText += ofSource));
      parts.set(part, { state, source, code: codes.subarray(ofCodes, (ofCodes += ofCode)) });
    }
  } catch {
    // There is none yet, or it is damaged.
    parts.clear();
  }
  return parts;
}

function sectionsOf(file) {
  const fd = openSync(file);
  try {
    const read = (length) => {
      const bytes = Buffer.allocUnsafeSlow(length);
      if (readSync(fd, bytes) !== length) throw new Error('incomplete');
      return bytes;
    };
    const head = read(16);
    const lengths = [4, 8, 12].map((at) => head.readUInt32LE(at));
    const whole = lengths.reduce((sum, length) => sum + length, head.length);
    if (whole !== fstatSync(fd).size) throw new Error('damaged');
    const sections = lengths.map(read);
    if (sections.reduce((sum, bytes) => crc32(bytes, sum), 0) !== head.readUInt32LE()) throw new Error('damaged');
    return sections;
  } finally {
    closeSync(fd);
  }
}

function writeCache(file, parts) {
  try {
    const all = [...parts.values()];
    const index = [...parts].map(([part, { state, source, code }]) => [part, state, source.length, code.length]);
    const sections = [
      Buffer.from(JSON.stringify(index)),
      Buffer.from(all.map(({ source }) => source).join('')),
      Buffer.concat(all.map(({ code }) => code)),
    ];
    const head = Buffer.alloc(16);
    head.writeUInt32LE(sections.reduce((sum, bytes) => crc32(bytes, sum), 0));
    for (const [at, { length }] of sections.entries()) head.writeUInt32LE(length, 4 * (at + 1));
    // Another process reads all of it or nothing.
    const written = `${file}.${process.pid}`;
    writeFileSync(written, Buffer.concat([head, ...sections]), { mode: 0o600 });
    renameSync(written, file);
  } catch {
    // The disk may be full; the next start then compiles again.
  }
}
