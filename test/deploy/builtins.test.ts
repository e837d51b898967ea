/** Imports of Node's own modules in the bundle. */
import { expect, test } from 'vitest';
import { takeBuiltins } from '../../deploy/package/builtins.ts';

test.each([
  ['import { join } from "node:path";', 'const { join } = process.getBuiltinModule("node:path");'],
  ['import { join as join$1, sep } from "path";', 'const { join: join$1, sep } = process.getBuiltinModule("path");'],
  ['import http from "node:http";', 'const http = process.getBuiltinModule("node:http");'],
  ['import * as fs$1 from "node:fs/promises";', 'const fs$1 = process.getBuiltinModule("node:fs/promises");'],
  [
    'import fs, { readFileSync } from "node:fs";',
    'const fs = process.getBuiltinModule("node:fs"); const { readFileSync } = process.getBuiltinModule("node:fs");',
  ],
])('%s is taken from Node', (imported, taken) => {
  expect(takeBuiltins(`${imported}\nrest();`)).toBe(`${taken}\nrest();`);
});

test.each([
  'import "node:fs";',
  'import { a } from "./start-x.js";',
  'import { parse } from "yaml";',
  'const { request } = await import("node:https");',
  '  const text = `\n  import { join } from "node:path";`;',
])('%s stays', (code) => {
  expect(takeBuiltins(code)).toBe(code);
});
