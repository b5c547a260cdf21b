// [[slug]] in a text (NIP-AE, "References").
import { validSlug } from './slug.mjs';

/** The slugs that a text refers to, each once, in order. @param {string} text @returns {string[]} */
export function references(text) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const [, slug] of text.matchAll(/\[\[([a-z0-9_/-]{1,255})\]\]/g)) if (validSlug(slug)) found.add(slug);
  return [...found];
}
