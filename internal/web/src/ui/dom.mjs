// Builds nodes. There is no way here from text to markup: what is not a node
// becomes a text node, and attributes are set one by one.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, unknown>} Attributes */

/**
 * An element. Attributes that are functions are listeners (`onclick`), `true`
 * stands for an empty attribute, and null, undefined and false for none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(key, value === true ? '' : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
export function nodes(children) {
  /** @type {(Node | string)[]} */
  const out = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    out.push(child instanceof Node ? child : String(child));
  }
  return out;
}

/**
 * Puts children in the place of those that are there.
 * @template {Element} T
 * @param {T} element
 * @param {...(Child | Child[])} children
 * @returns {T}
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Gives an element these children in this order, and moves only what is elsewhere:
 * what has the focus keeps it.
 * @param {Element} element
 * @param {Element[]} wanted
 */
export function sync(element, wanted) {
  const keep = new Set(wanted);
  for (const child of [...element.children]) if (!keep.has(child)) child.remove();
  let at = element.firstElementChild;
  for (const child of wanted) {
    if (child === at) at = at.nextElementSibling;
    else element.insertBefore(child, at);
  }
}

/**
 * @param {string} text
 * @param {(event: MouseEvent) => unknown} press
 * @param {Attributes} [attributes]
 */
export const button = (text, press, attributes = {}) =>
  h('button', { type: 'button', onclick: press, ...attributes }, text);

let fields = 0;

/** What no field of the page lets the browser do: remember, complete, send away for spelling. */
export const closed = { autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off', translate: 'no' };

/**
 * A labelled field. Without a form around it nothing offers to keep what is typed.
 * @template {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} T
 * @param {string} label
 * @param {T} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  const id = control.id || (control.id = `field-${++fields}`);
  for (const [key, value] of Object.entries(closed)) control.setAttribute(key, value);
  const told = hint ? h('p', { class: 'hint', id: `${id}-hint` }, hint) : null;
  if (told) control.setAttribute('aria-describedby', told.id);
  return h('div', { class: 'field' }, h('label', { for: id }, label), told, control);
}

/**
 * A box to tick, with its label behind it.
 * @param {string} label
 * @param {{checked?: boolean, change?: (checked: boolean) => void, hint?: string}} [options]
 */
export function tick(label, { checked = false, change, hint } = {}) {
  const id = `field-${++fields}`;
  const input = h('input', { type: 'checkbox', id, checked, ...closed, 'aria-describedby': hint && `${id}-hint` });
  input.addEventListener('change', () => change?.(input.checked));
  const node = h('div', { class: 'tick' }, input, h('div', {},
    h('label', { for: id }, label), hint ? h('p', { class: 'hint', id: `${id}-hint` }, hint) : null));
  return { node, input };
}

/**
 * A choice among a few.
 * @param {string} label
 * @param {[string, string][]} options value and text
 * @param {string} value
 * @param {(value: string) => void} change
 */
export function choice(label, options, value, change) {
  const select = h('select', {}, options.map(([key, text]) => h('option', { value: key, selected: key === value }, text)));
  select.addEventListener('change', () => change(select.value));
  return { node: field(label, select), select };
}

/**
 * A list of terms and what is said of them; those of which nothing is said are left out.
 * @param {[string, Child | Child[]][]} pairs
 */
export function terms(pairs) {
  return h('dl', { class: 'terms' }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, ...nodes([value])))));
}

/** @param {string} id @returns {SVGElement} one of the page's few drawings */
export function drawing(id) {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `drawing drawing-${id}`);
  for (const d of drawings[id] ?? []) {
    const path = document.createElementNS(space, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}

/** @type {Record<string, string[]>} */
const drawings = {
  mark: ['M5 4.5h10.5a3.5 3.5 0 0 1 3.5 3.5v11.5H8.5A3.5 3.5 0 0 1 5 16z', 'M5 16a3.5 3.5 0 0 1 3.5-3.5H19', 'M9 8h6'],
  extension: ['M9 4v4M15 4v4M6 8h12v3a6 6 0 0 1-12 0zM12 17v4'],
  bunker: ['M5 20V10l7-6 7 6v10zM10 20v-5h4v5'],
  key: ['M8 15a4 4 0 1 1 3.5-6H21v4h-3v3h-4v-3h-2.5A4 4 0 0 1 8 15zM8 11h.01'],
};
