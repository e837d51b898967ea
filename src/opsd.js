#!/usr/bin/env node
/**
 * The first file of the program. It is JavaScript that Node 10 parses, as a module and as CommonJS, so that an old Node
 * reports its version instead of a syntax error. It loads the rest with Node's compile cache, if its folder can be
 * written. With a warm cache, Node need not load its TypeScript parser either (7 MB, 20 ms).
 */
/* oxlint-disable no-var, prefer-template, unicorn/prefer-number-properties -- old Nodes run this file */
var needed = [24, 15];
var found = process.versions.node.split('.').map(Number);

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.exitCode = 1;
  process.stderr.write(
    'opsd requires Node ' + needed.join('.') + ' or newer; this is Node ' + process.versions.node + '.\n',
  );
} else {
  // Remains the exit code if the program ends before its command does; Node uses it for that too.
  process.exitCode = 13;
  useCompileCache(process.env);
  var main = import('./main.ts');
  // From the start: by default, a signal for a reload ends the process.
  if (process.argv[2] === 'run') {
    process.on('SIGHUP', function () {
      void main.then(function (loaded) {
        loaded.hangUp();
      });
    });
  }
}

/** Uses a folder of this user. In Node's default, below /tmp, another user could place code first. */
function useCompileCache(env) {
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return; // Node obeys them itself.
  var fs = process.getBuiltinModule('node:fs');
  try {
    var caches = env.XDG_CACHE_HOME || process.getBuiltinModule('node:os').homedir() + '/.cache';
    var folder = caches + '/opsd';
    // Each by itself: Node never returns from creating nested folders where none can be, such as below /proc.
    if (!fs.existsSync(caches)) fs.mkdirSync(caches, { mode: 0o700 });
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, { mode: 0o700 });
    var isOwn = !process.getuid || fs.statSync(folder).uid === process.getuid();
    if (isOwn) process.getBuiltinModule('node:module').enableCompileCache(folder);
  } catch {
    // Without a home that can be written, there is no cache.
  }
}
