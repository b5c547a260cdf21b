// Slugs of NIP-AE: "core", or "mem/" and parts of a-z, 0-9, _ and -.

/** @param {string} s */
export function validSlug(s) {
  if (s === 'core') return true;
  return s.length <= 255 && s.startsWith('mem/') && s.slice(4).split('/').every(part => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(part));
}

/** Proposals and their answers, which are no memory. @param {string} slug */
export const isExchange = slug => slug.startsWith('mem/proposals/') || slug.startsWith('mem/proposals-answers/');
