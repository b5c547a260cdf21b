// Taking memory away as files. It asks first, because what lies in a file is no longer
// encrypted.
import { button, choice, fill, h, tick } from './dom.mjs';
import { errorText, note } from './states.mjs';
import { size } from './time.mjs';
import { W } from '../words.mjs';

/** @param {import('./context.mjs').Context} ctx @param {string} agent */
export function exportPart(ctx, agent) {
  const place = h('div', { 'aria-live': 'polite' });
  let form = 'markdown';
  const forms = choice(W.export.form, [['markdown', W.export.markdown], ['jsonl', W.export.jsonl]], form, (value) => {
    form = value;
    // Signed events are ciphertext: there is nothing in them to redact.
    redact.node.hidden = value !== 'markdown';
    risk.textContent = value === 'markdown' ? W.export.risk : W.export.riskSigned;
  });
  const redact = tick(W.export.redact, { checked: true, hint: W.export.redactHint });
  const risk = h('p', {}, W.export.risk);
  const sure = tick(W.export.sure, { change: (checked) => { go.disabled = !checked; } });
  const go = button(W.export.go, async () => {
    go.disabled = true;
    fill(place, h('p', { class: 'busy' }, W.export.making));
    try {
      const got = await ctx.owner.exportOf(agent, /** @type {'markdown' | 'jsonl'} */ (form), { redact: redact.input.checked });
      save(got.name, got.bytes);
      fill(place, note('good', W.export.done(got.files, size(got.bytes.length), got.redacted)), got.known && !got.known.exact && note('warn', W.export.partial));
    } catch (error) {
      fill(place, note('bad', errorText(error)));
    } finally {
      go.disabled = !sure.input.checked;
    }
  }, { class: 'main', disabled: true });
  const node = h('section', { class: 'form', 'aria-labelledby': 'export-heading' }, h('h2', { id: 'export-heading' }, W.export.heading), h('p', {}, W.export.what),
    forms.node, redact.node, risk, sure.node, h('p', { class: 'actions' }, go), place);
  return { node };
}

/** @param {string} name @param {Uint8Array} bytes */
function save(name, bytes) {
  const url = URL.createObjectURL(new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)], { type: 'application/octet-stream' }));
  h('a', { href: url, download: name }).click();
  // The browser has taken the bytes over once the click is handled; the URL would keep them.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
