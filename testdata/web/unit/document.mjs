// As much of a document as the renderer of Markdown may use; whatever else it reached
// for would fail.
export class FakeNode {
  /** @type {FakeNode[]} */ children = [];
  /** @type {Record<string, string>} */ attributes = {};
  /** @type {Record<string, () => void>} */ listeners = {};
  /** @param {string} name @param {string} [data] */
  constructor(name, data) {
    this.name = name;
    this.data = data;
  }

  get firstChild() { return this.children[0] ?? null; }

  /** @param {FakeNode} node */
  appendChild(node) {
    if (node.name === '#fragment') this.children.push(...node.children.splice(0));
    else this.children.push(node);
    return node;
  }

  /** @param {string} name @param {string} value */
  setAttribute(name, value) { this.attributes[name] = value; }

  /** @param {string} name @param {() => void} f */
  addEventListener(name, f) { this.listeners[name] = f; }

  get textContent() { return /** @type {string} */ (this.data ?? this.children.map((c) => c.textContent).join('')); }

  /** @returns {Generator<FakeNode>} */
  *all() {
    yield this;
    for (const c of this.children) yield* c.all();
  }

  /** Names with what is in them, for comparing. @returns {string} */
  get shape() {
    if (this.data !== undefined) return this.data;
    const inside = this.children.map((c) => c.shape).join('');
    return this.name === '#fragment' ? inside : `<${this.name}>${inside}</${this.name}>`;
  }
}

export const fakeDocument = /** @type {any} */ ({
  createDocumentFragment: () => new FakeNode('#fragment'),
  createElement: (/** @type {string} */ name) => new FakeNode(name),
  createTextNode: (/** @type {string} */ data) => new FakeNode('#text', data),
});
