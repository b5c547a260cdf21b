// The frame around the views: who reads, where one is, and the way out.
import { button, drawing, fill, h } from './dom.mjs';
import { keyText } from './keys.mjs';
import { W } from '../words.mjs';

/** @param {string} view @param {Element} content the page before sign-in: no navigation, nothing else */
export function bare(view, content) {
  const main = h('main', { id: 'main', tabindex: '-1', 'data-view': view, class: 'narrow' }, content);
  fill(page(), h('header', { class: 'bar' }, h('div', { class: 'brand' }, drawing('mark'), h('span', {}, W.title))), main, speaker());
  return main;
}

const page = () => /** @type {HTMLElement} */ (document.getElementById('page'));

/** @type {HTMLElement | null} */
let voice = null;

function speaker() {
  voice = h('div', { role: 'status', 'aria-live': 'polite', class: 'spoken', id: 'spoken' });
  return voice;
}

/**
 * Says something to who does not see the screen.
 * @param {string} text
 */
export function say(text) {
  if (voice && voice.textContent !== text) voice.textContent = text;
}

/**
 * What the owner has to do elsewhere, above whatever is shown; the newest alone.
 * @param {...import('./dom.mjs').Child} children
 */
export function above(...children) {
  document.getElementById('above')?.remove();
  const node = h('div', { class: 'idle', id: 'above', role: 'alert' }, ...children);
  node.append(button(W.done, () => node.remove()));
  document.getElementById('main')?.before(node);
}

/**
 * The page while signed in.
 * @param {{pubkey: string, kind: string, go: (view: string) => void, logout: () => void}} options
 */
export function shell({ pubkey, kind, go, logout }) {
  const main = h('main', { id: 'main', tabindex: '-1' });
  const idle = h('div', { class: 'idle', role: 'alert', hidden: true });
  const tabs = Object.entries(W.nav).map(([view, text]) => button(text, () => go(view), { 'data-nav': view }));
  const skip = button(W.skip, () => main.focus(), { class: 'skip' });
  fill(page(),
    skip,
    h('header', { class: 'bar' },
      h('div', { class: 'brand' }, drawing('mark'), h('span', {}, W.title)),
      h('nav', { 'aria-label': W.navLabel }, h('ul', {}, tabs.map((tab) => h('li', {}, tab)))),
      h('div', { class: 'who' },
        h('span', { class: 'who-key' }, h('span', { class: 'spoken' }, `${W.signedInAs} `), keyText(pubkey), h('span', { class: 'faint' }, W.signerShort[/** @type {keyof typeof W.signerShort} */ (kind)])),
        button(W.logout, logout, { class: 'quiet', id: 'logout' }))),
    idle, main, speaker());
  return {
    main,
    /** @param {string} view */
    mark(view) {
      for (const tab of tabs) {
        if (tab.dataset.nav === view) tab.setAttribute('aria-current', 'page');
        else tab.removeAttribute('aria-current');
      }
    },
    /** @param {number | null} seconds until the page signs out; null when somebody is there again */
    warnIdle(seconds) {
      idle.hidden = seconds === null;
      fill(idle, seconds === null ? null : h('span', {}, W.idleSoon(seconds)), button(W.stay, () => {}));
    },
  };
}
