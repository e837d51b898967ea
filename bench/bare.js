/** The floor: the cost of any Node program that serves a prom-client registry. */
import { createServer } from 'node:http';
import { Counter, Registry } from 'prom-client';

const registry = new Registry();
new Counter({ name: 'bench_total', help: 'One counter.', registers: [registry] }).inc();
createServer((_request, response) => {
  void registry.metrics().then((text) => response.end(text));
}).listen(Number(process.argv[2]), '127.0.0.1');
