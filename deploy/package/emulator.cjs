/**
 * The entry of the library, for `import` and `require`. It is JavaScript that Node 10 parses, so that an old Node
 * reports its version instead of a syntax error.
 */
/* oxlint-disable no-var, prefer-template, unicorn/prefer-number-properties -- old Nodes run this file */
'use strict';

var needed = [24, 15];
var found = process.versions.node.split('.').map(Number);

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  throw new Error(
    'msgsvc-opsd/emulator requires Node ' + needed.join('.') + ' or newer; this is Node ' + process.versions.node + '.',
  );
}

exports.startEmulator = require('./library.cjs').startEmulator;
