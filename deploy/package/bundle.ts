/**
 * The bundle: the program and the emulator's library without packages, each part loaded when used. It is CommonJS, whose
 * compiled code can be kept after it ran (load.js). An `import` of Node's own modules would also read all of their
 * exports, and those of `node:http` load Node's WebSocket and fetch: 40 ms and 14 MB.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const LIBRARY = 'emulator/src/testing/start.ts';

/** Packages that few configurations need, by the name of their part, which is loaded when it is first used. */
const LOADED_WHEN_USED = [
  { name: 'expressions', test: /node_modules\/(?:@marcbachmann\/cel-js|re2js)\// },
  { name: 'cron', test: /node_modules\/node-cron\// },
];

export interface Bundle {
  /** Absolute paths of the files of `node_modules` in the bundle. */
  readonly packageFiles: readonly string[];
}

/** Writes the bundle to an empty or new folder. */
export async function writeBundle(folder: string): Promise<Bundle> {
  await using bundle = await rolldown({
    cwd: ROOT,
    input: { main: 'src/main.ts', library: LIBRARY },
    platform: 'node',
    // The package of the emulator imports it by this name. A copy of the checkout can share the packages of another one.
    resolve: { alias: { 'msgsvc-foundation': join(ROOT, 'src/foundation') } },
    plugins: [filesBeside(), fixedVersion(), loadedWhenUsed(), requiredBuiltins(), ownOfProcess()],
    onLog(level, log, handle) {
      if (level === 'warn') throw new Error(`the bundle is not as intended: ${log.message}`);
      handle(level, log);
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    // With the hash, a running daemon never loads a part of another version after an update in place.
    chunkFileNames: '[name]-[hash].cjs',
    assetFileNames: '[name]-[hash][extname]',
    codeSplitting: { groups: LOADED_WHEN_USED },
    sourcemap: true,
    // The sources are public, and would be most of the package.
    sourcemapExcludeSources: true,
    comments: false,
    // Otherwise, V8 keeps two bytes for each character of a part.
    charset: 'ascii',
  });
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  return { packageFiles: chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.includes('/node_modules/')) };
}

/** A file of the sources that is named at run time: a thread, or a file that is read. */
const BESIDE = /(new Worker\(\s*)?new URL\('([^']+)', import\.meta\.url\)/g;

/** Puts threads, bundled, and files that are read beside the chunks, where the chunks find them. */
function filesBeside(): Plugin {
  return {
    name: 'files-beside',
    transform: {
      filter: { id: { exclude: /node_modules/ }, code: BESIDE },
      handler(code, id) {
        const changed = code.replaceAll(BESIDE, (_expression, worker: string | undefined, path: string) => {
          const file = join(dirname(id), path);
          const name = basename(path);
          const reference =
            worker === undefined
              ? this.emitFile({ type: 'asset', name, source: readFileSync(file) })
              : this.emitFile({ type: 'chunk', name: name.replace(/\.[jt]s$/, ''), id: file });
          return `${worker ?? ''}new URL(import.meta.ROLLUP_FILE_URL_${reference})`;
        });
        // The lines are the same.
        return { code: changed, map: null };
      },
    },
  };
}

/** Replaces the function that reads the version from package.json, which is at another place or absent. */
function fixedVersion(): Plugin {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  return {
    name: 'fixed-version',
    load: {
      filter: { id: /foundation\/platform\/package-version\.ts$/ },
      handler: () => `export const packageVersion = () => ${JSON.stringify(version)};`,
    },
  };
}

/** Replaces `require`, at the beginning of a part, by a function, and each use of its result by a call. */
function loadedWhenUsed(): Plugin {
  const names = LOADED_WHEN_USED.map(({ name }) => `require_${name}`).join('|');
  const required = new RegExp(`^(?:const|let) (${names}) = (require\\("[^"]+"\\));$`, 'gm');
  const used = new RegExp(`\\b(${names})\\.`, 'g');
  return {
    name: 'loaded-when-used',
    renderChunk(code) {
      const changed = code.replaceAll(required, 'let $1_; const $1 = () => ($1_ ??= $2);').replaceAll(used, '($1()).');
      // The lines are the same.
      return { code: changed, map: null };
    },
  };
}

/** Replaces each remaining `import()`, which names a module of Node: in compiled code, Node warns about the first one. */
function requiredBuiltins(): Plugin {
  return {
    name: 'required-builtins',
    // The lines are the same.
    renderChunk: (code) => ({
      code: code.replaceAll(/\bimport\(("[\w:/]+")\)/g, 'Promise.resolve(require($1))'),
      map: null,
    }),
  };
}

/** For undici: the global ones of a test's process may be fake when its first delivery loads undici. */
const TIMERS =
  `'use strict'; const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = ` +
  `require(${JSON.stringify(join(ROOT, 'src/foundation/platform/timers.ts'))}).timers; ` +
  `const queueMicrotask = (run) => void Promise.resolve().then(run);`;

/**
 * Separates the library from the process of an application's tests: zod gets an object of its own for its settings,
 * which it would share with each other zod, and undici has no global timers.
 */
function ownOfProcess(): Plugin {
  return {
    name: 'own-of-process',
    transform: {
      filter: {
        id: /node_modules\/(?:zod\/v4\/core\/(?:core|registries)|undici\/lib\/(?:api|core|dispatcher|util)\/[\w-]+)\.js$/,
      },
      // The lines are the same.
      handler: (code, id) => ({
        code: id.includes('/zod/') ? `const own = {}; ${code.replaceAll('globalThis', 'own')}` : `${TIMERS} ${code}`,
        map: null,
      }),
    },
  };
}
