/** Licenses of the parts of Node, and of the Debian packages that Node is linked to. */

/** By their names in `process.versions`, after Node's LICENSE file. */
const NODE_PARTS: Readonly<Record<string, string>> = {
  acorn: 'MIT',
  ada: 'MIT',
  amaro: 'MIT',
  ares: 'MIT',
  brotli: 'MIT',
  cjs_module_lexer: 'MIT',
  icu: 'ICU',
  llhttp: 'MIT',
  merve: 'MIT',
  nbytes: 'MIT',
  ncrypto: 'MIT',
  nghttp2: 'MIT',
  nghttp3: 'MIT',
  ngtcp2: 'MIT',
  openssl: 'Apache-2.0',
  simdjson: 'Apache-2.0',
  simdutf: 'MIT',
  sqlite: 'blessing',
  undici: 'MIT',
  uv: 'MIT',
  uvwasi: 'MIT',
  v8: 'BSD-3-Clause',
  zlib: 'Zlib',
  zstd: 'BSD-3-Clause',
};

/** By the package, after Debian's copyright files. */
const DEBIAN: readonly (readonly [RegExp, string])[] = [
  [/^libc6$/, 'LGPL-2.1-or-later'],
  [/^(?:libgcc-s1|libstdc\+\+6|libatomic1)$/, 'GPL-3.0-or-later WITH GCC-exception-3.1'],
];

export type Licenses = readonly [
  { readonly license: { readonly id: string } | { readonly name: string } } | { readonly expression: string },
];

/** @param expression an SPDX identifier or expression */
export function licensesOf(expression: string): Licenses {
  return expression.includes(' ') ? [{ expression }] : [{ license: { id: expression } }];
}

/** Returns the license of a part of Node. A part that is not in the table is in Node's own LICENSE file. */
export function nodePartLicense(name: string): Licenses {
  const id = NODE_PARTS[name];
  return [{ license: id === undefined ? { name: 'See /usr/local/LICENSE' } : { id } }];
}

/** @throws {Error} for a package that is not in the table */
export function debianLicense(name: string): Licenses {
  const expression = DEBIAN.find(([form]) => form.test(name))?.[1];
  if (expression === undefined) {
    throw new Error(`the license of the Debian package ${name} is not known: add it to deploy/image/licenses.ts`);
  }
  return licensesOf(expression);
}
