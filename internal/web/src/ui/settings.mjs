// What the owner may choose, and what lies in the browser for it.
import { button, h, tick } from './dom.mjs';
import { npub } from './keys.mjs';
import { canStore, forget, save } from './settings-store.mjs';
import { W } from '../words.mjs';

/** @param {import('./context.mjs').Context} ctx */
export function settingsView(ctx) {
  const { settings } = ctx;
  const sys = tick(W.settings.sys, { checked: settings.sys, hint: W.settings.sysHint, change: (checked) => { settings.sys = checked; save(settings); } });
  const visits = tick(W.settings.visits, {
    checked: settings.visits, hint: W.settings.visitsHint, change: (checked) => {
      settings.visits = checked;
      if (!checked) settings.last = {};
      save(settings);
    },
  });
  const named = tick(W.settings.relays, {
    checked: settings.relays.length > 0, hint: W.settings.relaysHint, change: (checked) => {
      settings.relays = checked ? [...ctx.relays] : [];
      save(settings);
    },
  });
  const gone = h('span', { role: 'status' });
  const node = h('div', { class: 'form' }, h('h1', {}, W.settings.heading),
    h('p', {}, W.signedInAs, ' ', h('span', { class: 'address' }, npub(ctx.signer.pubkey))),
    h('section', { class: 'part' }, h('h2', {}, W.settings.shown), sys.node),
    h('section', { class: 'part' }, h('h2', {}, W.settings.stored),
      canStore() ? [visits.node, named.node, h('p', {}, button(W.settings.forget, () => {
        forget();
        Object.assign(settings, { visits: false, last: {}, relays: [] });
        visits.input.checked = named.input.checked = false;
        gone.textContent = W.settings.forgotten;
      }), ' ', gone)] : h('p', {}, W.settings.nothingStored)),
    h('section', { class: 'part' }, h('h2', {}, W.settings.end), W.settings.ends.map((text) => h('p', {}, text)), button(W.logout, () => ctx.end('logout'))));
  return { node };
}
