// Looks for texts and keys among the live objects of a page and its Worker, after a
// forced collection (Chrome DevTools Protocol): texts in heap snapshots, keys in the
// fields of objects.

/** A session's calls, to the page itself or to a target within it. */
class Session {
  #number = 0;
  #waiting = new Map();
  #listening = [];

  constructor(cdp, inner = null) {
    this.cdp = cdp;
    this.inner = inner;
    if (!inner) return;
    this.take = ({ sessionId, message }) => {
      if (sessionId !== inner) return;
      const { id, result, error, method, params } = JSON.parse(message);
      if (id === undefined) for (const [name, listen] of this.#listening) { if (name === method) listen(params); }
      else if (error) this.#waiting.get(id)?.reject(new Error(error.message));
      else this.#waiting.get(id)?.resolve(result);
    };
    cdp.on('Target.receivedMessageFromTarget', this.take);
  }

  on(method, listen) {
    if (this.inner) this.#listening.push([method, listen]);
    else this.cdp.on(method, listen);
  }

  async send(method, params = {}) {
    if (!this.inner) return this.cdp.send(method, params);
    const id = ++this.#number;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    await this.cdp.send('Target.sendMessageToTarget', { sessionId: this.inner, message: JSON.stringify({ id, method, params }) });
    return answer;
  }
}

/** What of the texts, and whether the key's bytes, live objects hold. */
async function look(session, texts, keyHex) {
  const parts = [];
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => parts.push(chunk));
  await session.send('HeapProfiler.enable');
  for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  await session.send('HeapProfiler.disable');
  const whole = parts.join('');
  return { texts: texts.filter(text => whole.includes(text)), key: await holdsKey(session, keyHex) };
}

/** Finds live objects of classes; V8 names no arrays of bytes by themselves. */
const instances = `function () {
  return this.filter(o => { try { return /^class\\b/.test(Function.prototype.toString.call(o.constructor)); } catch { return false; } });
}`;

/** Whether an array of bytes, or what it is a view of, has the key's in it. */
const hasBytes = `function (key) {
  const wanted = key.match(/../g).map(pair => parseInt(pair, 16));
  const all = new Uint8Array(this.buffer ?? this);
  for (let i = all.indexOf(wanted[0]); i >= 0 && i + wanted.length <= all.length; i = all.indexOf(wanted[0], i + 1)) if (wanted.every((b, k) => all[i + k] === b)) return true;
  return false;
}`;

/** Whether a field of any live object, private ones too, is an array with the key's bytes. */
async function holdsKey(session, keyHex) {
  await session.send('Runtime.enable');
  const { result } = await session.send('Runtime.evaluate', { expression: 'Object.prototype' });
  const { objects } = await session.send('Runtime.queryObjects', { prototypeObjectId: result.objectId });
  const { result: list } = await session.send('Runtime.callFunctionOn', { objectId: objects.objectId, functionDeclaration: instances });
  const { result: elements } = await session.send('Runtime.getProperties', { objectId: list.objectId, ownProperties: true });
  for (const { value } of elements) {
    if (!value?.objectId) continue;
    const { result: own, privateProperties = [] } = await session.send('Runtime.getProperties', { objectId: value.objectId, ownProperties: true });
    for (const { value: field } of [...own, ...privateProperties]) {
      if (field?.subtype !== 'typedarray' && field?.subtype !== 'arraybuffer') continue;
      const { result: said } = await session.send('Runtime.callFunctionOn', { objectId: field.objectId, returnByValue: true, arguments: [{ value: keyHex }], functionDeclaration: hasBytes });
      if (said.value) return true;
    }
  }
  await session.send('Runtime.disable');
  return false;
}

/**
 * @returns {Promise<{page: {texts: string[], key: boolean}, worker: {texts: string[], key: boolean} | null}>}
 */
export async function heapHas(page, texts, keyHex) {
  const cdp = await page.context().newCDPSession(page);
  try {
    const attached = [];
    cdp.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => { if (targetInfo.type === 'worker') attached.push(sessionId); });
    await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
    const worker = attached.length ? await look(new Session(cdp, attached[0]), texts, keyHex) : null;
    return { page: await look(new Session(cdp), texts, keyHex), worker };
  } finally {
    await cdp.detach();
  }
}
