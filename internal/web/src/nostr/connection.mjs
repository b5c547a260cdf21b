// One websocket to one relay, on which the owner has proved who asks (NIP-42). What
// comes is handed to whoever waits for it; what nobody waits for is bounded.
/** @typedef {import('./event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('./event.mjs').Template} Template */
/** @typedef {(said: unknown[] | RelayError, size: number) => void} Listener */
/**
 * @typedef {object} Options
 * @property {(template: Template) => Promise<NostrEvent>} sign
 * @property {typeof globalThis.WebSocket} WebSocket
 * @property {number} silence ms without a word after which a relay has failed
 * @property {() => number} now Unix seconds
 */

const FRAME = 4 << 20; // characters
const STRAY = 64 << 20; // characters of frames that nobody waits for
const GARBAGE = 1000; // frames that are none
const REST = 5000; // ms in which a relay that did not answer is not waited for again
const PROOFS = 8; // on one socket: a relay may ask anew, but not for ever

/** What a relay did instead of answering. Its word is one of words-reasons.mjs. */
export class RelayError extends Error {
  /** @param {string} word @param {string} relay */
  constructor(word, relay) {
    super(word);
    this.name = 'RelayError';
    this.word = word;
    this.relay = relay;
  }
}

export class Connection {
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {Promise<void> | null} */ #ready = null;
  /** @type {Promise<void> | null} */ #proving = null;
  /** @type {Map<string, Listener>} */ #listeners = new Map();
  #challenge = '';
  #proofs = 0;
  #stray = 0;
  #ended = false;
  heard = 0; // messages that came, on whichever socket
  /** @type {{error: RelayError, until: number} | null} */ #rest = null;
  garbage = 0;

  /** @param {string} url @param {Options} options */
  constructor(url, options) {
    this.url = url;
    this.o = options;
  }

  /** Connected, and proved to be the owner. @returns {Promise<void>} */
  open() {
    if (this.#ended) return Promise.reject(new RelayError('closed', this.url));
    if (this.#rest && performance.now() < this.#rest.until) return Promise.reject(this.#rest.error);
    if (!this.#ready) {
      const ready = this.#connect().catch((error) => {
        if (this.#ready === ready) this.drop(error instanceof RelayError ? error : new RelayError('closed', this.url));
        throw error;
      });
      this.#ready = ready;
    }
    return this.#ready;
  }

  async #connect() {
    if (tlsMissing(this.url)) throw new RelayError('no-tls', this.url);
    /** @type {WebSocket} */
    let socket;
    try {
      socket = new this.o.WebSocket(this.url);
    } catch {
      throw new RelayError('refused', this.url);
    }
    this.#socket = socket;
    this.#challenge = '';
    this.#proofs = this.#stray = this.garbage = 0;
    const challenged = this.ask('AUTH', null);
    socket.onmessage = (message) => { if (socket === this.#socket) this.#take(message.data); };
    socket.onerror = () => this.drop(new RelayError('unreachable', this.url), socket);
    socket.onclose = () => this.drop(new RelayError('closed', this.url), socket);
    await challenged;
    await this.prove();
  }

  /** Proves who asks, by the newest challenge; also anew, where a relay wants that. */
  prove() {
    this.#proving ??= this.#prove().finally(() => { this.#proving = null; });
    return this.#proving;
  }

  async #prove() {
    const socket = this.#socket;
    if (!this.#challenge) throw new RelayError('no-auth', this.url);
    if (++this.#proofs > PROOFS) throw new RelayError('not-authenticated', this.url);
    const proof = await this.o.sign({ kind: 22242, created_at: this.o.now(), content: '', tags: [['relay', this.url], ['challenge', this.#challenge]] });
    // Somebody may have pressed a button for this, for as long as it took.
    if (socket !== this.#socket) throw new RelayError('closed', this.url);
    const said = await this.ask(`OK ${proof.id}`, ['AUTH', proof]);
    if (said[2] !== true) throw new RelayError('not-authenticated', this.url);
  }

  /** @param {unknown[]} frame */
  send(frame) {
    if (this.#socket?.readyState !== 1) throw new RelayError('closed', this.url);
    this.#socket.send(JSON.stringify(frame));
  }

  /** @param {string} key @param {Listener} listener */
  on(key, listener) { this.#listeners.set(key, listener); }
  /** @param {string} key */
  off(key) { this.#listeners.delete(key); }

  /**
   * Sends a frame, if any, and waits for the one that answers it.
   * @param {string} key @param {unknown[] | null} frame
   * @returns {Promise<unknown[]>}
   */
  ask(key, frame) {
    return new Promise((resolve, reject) => {
      const end = (/** @type {unknown[] | RelayError} */ said) => {
        clearTimeout(clock);
        this.off(key);
        if (said instanceof RelayError) reject(said);
        else resolve(said);
      };
      const { heard } = this;
      const clock = setTimeout(() => end(this.silent(heard)), this.o.silence);
      this.on(key, end);
      try {
        if (frame) this.send(frame);
      } catch (error) {
        end(/** @type {RelayError} */ (error));
      }
    });
  }

  /**
   * What is said to one who waited in vain. A socket on which nothing came at all is given up.
   * @param {number} heard how much had come when the wait began: timers end a little early on some clocks
   */
  silent(heard) {
    // One that is there, and never asked who we are, may show memory to anybody.
    const mute = this.#socket?.readyState === 1 && !this.#challenge;
    const error = new RelayError(mute ? 'no-auth' : 'silent', this.url);
    if (this.#ready && this.heard === heard) this.drop(error);
    return error;
  }

  /** @param {unknown} data */
  #take(data) {
    this.heard++;
    const frame = framed(data);
    if (!frame) {
      if (++this.garbage > GARBAGE) this.drop(new RelayError('floods', this.url));
      return;
    }
    const [type, second] = frame;
    const size = /** @type {string} */ (data).length;
    if (type === 'AUTH' && typeof second === 'string' && second !== '' && second.length <= 1024) this.#challenge = second;
    const listener = typeof second === 'string' ? this.#listeners.get(type === 'AUTH' ? 'AUTH' : type === 'OK' ? `OK ${second}` : second) : undefined;
    if (listener) listener(frame, size);
    else if ((this.#stray += size) > STRAY) this.drop(new RelayError('floods', this.url));
  }

  /** Ends it for good: what still waits for its turn opens nothing anew. */
  close() {
    this.#ended = true;
    this.drop(new RelayError('closed', this.url));
  }

  /** Everybody who waits hears why there is nothing more. @param {RelayError} error @param {WebSocket} [socket] */
  drop(error, socket) {
    if (socket && socket !== this.#socket) return;
    const gone = this.#socket;
    if (tiring.includes(error.word)) this.#rest = { error, until: performance.now() + REST };
    this.#socket = null;
    this.#ready = null;
    this.#challenge = '';
    if (gone) {
      gone.onmessage = gone.onclose = null;
      gone.onerror = () => {}; // closing one that is not open yet is an error to some
      gone.close();
    }
    for (const listener of [...this.#listeners.values()]) listener(error, 0);
  }
}

/** What took long, and would again. */
const tiring = ['silent', 'unreachable', 'no-auth'];

/** @param {unknown} data @returns {unknown[] | null} */
function framed(data) {
  if (typeof data !== 'string' || data.length > FRAME) return null;
  try {
    const frame = JSON.parse(data);
    return Array.isArray(frame) ? frame : null;
  } catch {
    return null;
  }
}

/** A page of TLS may open no other sockets. @param {string} url */
const tlsMissing = (url) => url.startsWith('ws:') && globalThis.location?.protocol === 'https:';
