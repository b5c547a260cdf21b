// The Worker: whoever has it has the key's use, and never the key. Each message is
// {n, op, …} and is answered by {n, ok} or {n, word}.
import { Keys } from './keys.mjs';

const keys = new Keys();

/** @type {Record<string, (message: any) => unknown>} */
const ops = {
  key: ({ text }) => keys.key(String(text)),
  password: ({ text }) => keys.password(String(text)),
  sign: ({ template }) => keys.sign(template),
  proposal: ({ proposal }) => keys.proposal(proposal),
  open: ({ events, peer }) => keys.open(events, peer),
};

self.onmessage = ({ data }) => {
  const { n, op } = data;
  try {
    if (!Object.hasOwn(ops, op)) throw new Error('no such work');
    self.postMessage({ n, ok: ops[op](data) });
  } catch (error) {
    self.postMessage({ n, word: String(/** @type {{word?: string}} */ (error).word ?? 'failed') });
  }
};
