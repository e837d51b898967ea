/**
 * The parts of undici that the emulator uses. The index of undici would replace the dispatcher of `fetch` in the whole
 * process, which belongs to the tests of an application.
 */
import request from 'undici/lib/api/api-request.js';
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import Pool from 'undici/lib/dispatcher/pool.js';

// The index does the same.
Dispatcher.prototype.request = request;

export { Agent, buildConnector, Pool };
