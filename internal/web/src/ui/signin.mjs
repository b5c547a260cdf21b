// What each way to a key asks for. None of it ever stands beside memory.
import { button, fill, h, tick } from './dom.mjs';
import { ownPage, relayURL } from './policy.mjs';
import { passwordField, secretField } from './secret.mjs';
import { holds } from './session.mjs';
import { above, bare, say } from './shell.mjs';
import { busy, errorText, note } from './states.mjs';
import { visible } from '../text.mjs';
import { W } from '../words.mjs';
import { connectNip07 } from '../signers/nip07.mjs';
import { connectBunker } from '../signers/nip46.mjs';
import { pastedSigner } from '../signers/pasted.mjs';
import { start } from '../worker/start.mjs';

/** @typedef {import('../signers/nip07.mjs').Signer} Signer */

/** @param {() => void} back */
const backButton = (back) => button(W.back, back, { class: 'quiet' });

/**
 * @param {() => void} back
 * @returns {Promise<Signer>}
 */
export function extension(back) {
  return new Promise((done) => {
    const place = h('div');
    bare('extension', h('div', {}, h('h1', {}, W.ways.extension.name), place, backButton(back)));
    const attempt = async () => {
      fill(place, busy(W.signin.extension));
      try {
        done(holds(await connectNip07({ wait: 2000 })));
      } catch (error) {
        fill(place, note('bad', errorText(error)), button(W.again, attempt, { class: 'main' }));
      }
    };
    attempt();
  });
}

/**
 * The relays in a bunker's link, or null where it is none.
 * @param {string} text
 */
export function bunkerRelays(text) {
  try {
    const url = new URL(text);
    if (url.protocol !== 'bunker:' || text.length > 4096) return null;
    const relays = url.searchParams.getAll('relay').map(relayURL);
    const urls = relays.flatMap((relay) => 'url' in relay ? [relay.url] : []);
    return urls.length === relays.length && urls.length > 0 ? urls : null;
  } catch {
    return null;
  }
}

/**
 * The bunker's link. It holds a secret, and is treated as one.
 * @param {() => void} back
 * @returns {Promise<{link: string, relays: string[]}>}
 */
export function bunkerLink(back) {
  return new Promise((done) => {
    const place = h('div');
    const { node, input } = secretField(W.bunker.field, W.bunker.hint, (text) => {
      const relays = bunkerRelays(text);
      if (relays) done({ link: text, relays });
      else fill(place, note('bad', W.bunker.form));
    });
    bare('bunker', h('div', {}, h('h1', {}, W.ways.bunker.name), h('p', {}, W.bunker.what), node, place, backButton(back)));
    input.focus();
  });
}

/**
 * @param {string} link
 * @param {() => void} back
 * @returns {Promise<Signer>}
 */
export function bunker(link, back) {
  return new Promise((done) => {
    const stop = new AbortController();
    const place = h('div', {}, busy(W.signin.bunker));
    bare('bunker', h('div', {}, h('h1', {}, W.ways.bunker.name), place, backButton(() => { stop.abort(); back(); })));
    const onAuthUrl = (/** @type {string} */ url) => {
      // Shown as text: what a signer names is opened by its owner, not by this page.
      const address = h('p', { class: 'address' }, visible(url));
      if (place.isConnected) fill(place, busy(W.signin.bunkerAsks), address);
      else above(h('span', {}, W.signin.bunkerAsks), address); // for a memory, while somebody reads
    };
    connectBunker(link, { signal: stop.signal, onAuthUrl }).then((signer) => done(holds(signer)), (error) => {
      if (!stop.signal.aborted) fill(place, note('bad', errorText(error)), h('p', {}, W.bunker.anew));
    });
  });
}

/** The warning, which is confirmed first unless the page is the owner's own. @param {() => void} back */
export function warned(back) {
  return new Promise((done) => {
    if (ownPage()) {
      done(true);
      return;
    }
    const go = button(W.key.go, () => done(true), { class: 'main', disabled: true });
    const agreed = tick(W.key.agree(location.host), { change: (checked) => { go.disabled = !checked; } });
    bare('warning', h('div', {}, h('h1', {}, W.key.warning), W.key.risks.map((risk) => h('p', {}, risk)),
      h('p', {}, W.start.save, ' ', h('code', {}, 'engramctl web --save page.html')), agreed.node, h('p', { class: 'actions' }, go, backButton(back))));
  });
}

/**
 * A key, pasted into the Worker.
 * @param {() => void} back
 * @returns {Promise<Signer>}
 */
export function pasted(back) {
  return new Promise((done) => {
    const keys = holds(pastedSigner(start()));
    const place = h('div');
    const fields = h('div');
    const failed = (/** @type {unknown} */ error) => fill(place, note('bad', errorText(error)));
    const view = bare('key', h('div', {}, h('h1', {}, W.ways.key.name), h('p', {}, W.key.what), fields, place,
      backButton(() => { keys.close(); back(); })));
    const askPassword = () => {
      const password = passwordField(async (text) => {
        fill(place, busy(W.signin.password));
        try {
          await keys.password(text);
          finish();
        } catch (error) {
          failed(error);
        }
      });
      fill(place);
      fill(fields, h('p', {}, W.key.encrypted), password.node, button(W.key.open, password.hand, { class: 'main' }));
      password.input.focus();
    };
    const finish = () => {
      view.replaceChildren();
      done(keys.signer);
    };
    const secret = secretField(W.key.field, W.key.hint, async (text) => {
      fill(place, busy(W.signin.key));
      try {
        const got = await keys.key(text);
        if ('password' in got) askPassword();
        else finish();
      } catch (error) {
        failed(error);
        say(errorText(error));
      }
    });
    fill(fields, secret.node);
    secret.input.focus();
  });
}
