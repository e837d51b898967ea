/** A bare server that accepts and counts requests: the destination of the emulator's benchmark, and its floor. */
import { createServer } from 'node:http';

let count = 0;
createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(String(count));
    return;
  }
  count++;
  request.resume().on('end', () => response.end('ok'));
}).listen(Number(process.argv[2]), '127.0.0.1');
