/**
 * Pool only. The index of the package also loads fetch, WebSocket, mocks and caches, which costs 12 MB and 20 ms at
 * each start. The package has no list of exports, so this path works; its version is pinned.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
