// A signer of NIP-46 over a relay of its own: connect, get_public_key, sign_event,
// nip44_encrypt and nip44_decrypt.
import { WebSocket } from 'ws';
import * as nip44 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip44.js';
import { finalizeEvent, generateSecretKey, getPublicKey } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';

/**
 * @param {string} url of the relay
 * @param {string} secretHex of the key that it signs with
 * @param {{wants?: string}} [o] wants: an address that the owner has to open, asked for at the first text to decrypt
 * @returns {Promise<{link: string, asked: string[]}>}
 */
export async function startBunker(t, url, secretHex, { wants } = {}) {
  const own = generateSecretKey();
  const user = Uint8Array.from(secretHex.match(/../g), pair => parseInt(pair, 16));
  const asked = [];
  const socket = new WebSocket(url);
  t.after(() => socket.terminate());
  const secret = Buffer.from(generateSecretKey()).toString('hex').slice(0, 16);
  const send = frame => socket.send(JSON.stringify(frame));
  const methods = {
    connect: ([, given]) => { if (given !== secret) throw new Error('wrong secret'); return 'ack'; },
    get_public_key: () => getPublicKey(user),
    sign_event: ([event]) => JSON.stringify(finalizeEvent(JSON.parse(event), user)),
    nip44_encrypt: ([peer, text]) => nip44.encrypt(text, nip44.getConversationKey(user, peer)),
    nip44_decrypt: ([peer, payload]) => nip44.decrypt(payload, nip44.getConversationKey(user, peer)),
    ping: () => 'pong',
    switch_relays: () => 'null',
  };
  await new Promise((ready, fail) => {
    socket.on('error', fail);
    socket.on('message', data => {
      const [type, a, b] = JSON.parse(String(data));
      if (type === 'AUTH') {
        send(['AUTH', finalizeEvent({ kind: 22242, created_at: Math.floor(Date.now() / 1000), content: '', tags: [['relay', url], ['challenge', a]] }, own)]);
      } else if (type === 'OK' && b === true && !asked.ready) {
        asked.ready = true;
        send(['REQ', 'bunker', { kinds: [24133], '#p': [getPublicKey(own)] }]);
      } else if (type === 'EOSE') ready();
      else if (type === 'EVENT') answer(b);
    });
  });
  function answer(event) {
    const key = nip44.getConversationKey(own, event.pubkey);
    const { id, method, params } = JSON.parse(nip44.decrypt(event.content, key));
    if (wants && method === 'nip44_decrypt' && !asked.includes(method)) tell(event.pubkey, key, { id, result: 'auth_url', error: wants });
    asked.push(method);
    let said;
    try {
      said = { id, result: methods[method](params) };
    } catch (error) {
      said = { id, result: '', error: String(error.message) };
    }
    tell(event.pubkey, key, said);
  }
  function tell(client, key, said) {
    send(['EVENT', finalizeEvent({ kind: 24133, created_at: Math.floor(Date.now() / 1000), content: nip44.encrypt(JSON.stringify(said), key), tags: [['p', client]] }, own)]);
  }
  return { link: `bunker://${getPublicKey(own)}?relay=${encodeURIComponent(url)}&secret=${secret}`, asked };
}
