// window.nostr as a signer's extension gives it. The key is that of the tests'
// owner, put in by the build (rig/extension.mjs).
import { finalizeEvent, getPublicKey } from 'nostr-tools/pure';
import * as nip44 from 'nostr-tools/nip44';

const secret = Uint8Array.from(OWNER_SECRET.match(/../g), pair => parseInt(pair, 16));
const other = OTHER_SECRET && Uint8Array.from(OTHER_SECRET.match(/../g), pair => parseInt(pair, 16));
let signed = 0;
let decrypted = 0, letGo = () => {};
const gone = new Promise(go => { letGo = go; });
const with_ = peer => nip44.getConversationKey(secret, peer);

window.nostr = {
  getPublicKey: async () => getPublicKey(secret),
  signEvent: async template => finalizeEvent(template, other && signed++ ? other : secret),
  nip44: {
    encrypt: async (peer, text) => nip44.encrypt(text, with_(peer)),
    decrypt: async (peer, payload) => {
      if (decrypted++ >= MOST) await gone; // somebody has to press a button
      return nip44.decrypt(payload, with_(peer));
    },
  },
  letGo,
};
