// The page's Worker in a thread of Node's: what it is given and what it gives is
// copied as between a page and its Worker.
import { Worker } from 'node:worker_threads';

const worker = new URL('../../../internal/web/src/worker/worker.mjs', import.meta.url).href;
const shim = `
const { parentPort } = require('node:worker_threads');
globalThis.self = { postMessage: data => parentPort.postMessage(data) };
const early = [];
parentPort.on('message', data => (self.onmessage ? self.onmessage({ data }) : early.push(data)));
import(${JSON.stringify(worker)}).then(() => { for (const data of early) self.onmessage({ data }); });`;

export class NodeWorker {
  onmessage = null;
  onerror = null;
  /** All that came out of it, as text. */
  said = '';

  constructor(t) {
    this.thread = new Worker(shim, { eval: true });
    this.thread.on('message', data => {
      this.said += JSON.stringify(data);
      this.onmessage?.({ data });
    });
    this.thread.on('error', error => this.onerror?.(error));
    t.after(() => this.thread.terminate());
  }

  postMessage(data) { this.thread.postMessage(data); }
  terminate() { this.thread.terminate(); }
}
