#!/usr/bin/env node
/**
 * The program's first file, in JavaScript as nothing but the thread for passwords: once the compile cache is warm, everything after this line
 * comes from it with the types already stripped, and Node need not load its TypeScript parser (7 MB, 20 ms).
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
await import('./main.ts');
