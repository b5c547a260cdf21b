// A small part of Markdown as DOM nodes: headings, paragraphs, emphasis, code, lists,
// quotes and rules; all else is literal. The text is somebody else's: nothing in it can
// be pressed but [[links]] to other memories, and its cost grows with its length alone.
import { validSlug } from './nipae/slug.mjs';
import { visible } from './text.mjs';

/** @typedef {{slugs: (slug: string) => void, copy?: (address: string) => Node}} Options */

const DEPTH = 4; // of quotes and lists within each other
const SPANS = 6; // of emphasis within each other
const MOST = 1000; // elements of one text: what comes after them is literal

/**
 * @param {string} text @param {Document} document @param {Options} options
 * @returns {DocumentFragment}
 */
export function render(text, document, options) {
  const out = document.createDocumentFragment();
  new Renderer(document, options).blocks(text.split(/\r?\n/), out, 0);
  return out;
}

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** The mark that a fence of code begins with; what stands behind it holds no other. @param {string} line */
const fenceOf = (line) => {
  const found = FENCE.exec(line);
  return found && !line.includes('`', found[0].length) ? found[1] : '';
};
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
/** A long line is no rule, whatever it is made of. @param {string} line */
const isRule = (line) => line.length < 1000 && RULE.test(line);
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])[ \t]+/;

class Renderer {
  /** @param {Document} document @param {Options} options */
  constructor(document, options) {
    this.document = document;
    this.o = options;
    this.left = MOST;
  }

  /** @param {string} name @param {Node} into */
  add(name, into) {
    const node = this.document.createElement(name);
    into.appendChild(node);
    this.left--;
    return node;
  }

  /** @param {string} text @param {Node} into */
  text(text, into) {
    if (text) into.appendChild(this.document.createTextNode(visible(text)));
  }

  /** @param {string[]} lines @param {Node} into @param {number} depth */
  blocks(lines, into, depth) {
    for (let i = 0; i < lines.length;) {
      if (this.left <= 0) {
        this.text(lines.slice(i).join('\n'), this.add('p', into));
        return;
      }
      const line = lines[i];
      const fence = fenceOf(line);
      const heading = line.length < 1000 ? HEADING.exec(line) : null;
      if (line.trim() === '') i++;
      else if (fence) i = this.code(lines, i, fence, into);
      else if (heading) {
        // The page has the levels above: a memory's headings stand below them.
        this.inline(heading[2].trimEnd(), this.add(`h${Math.min(6, heading[1].length + 3)}`, into));
        i++;
      } else if (isRule(line)) {
        this.add('hr', into);
        i++;
      } else if (depth < DEPTH && QUOTE.test(line)) i = this.quote(lines, i, into, depth);
      else if (depth < DEPTH && ITEM.test(line)) i = this.list(lines, i, into, depth);
      else i = this.paragraph(lines, i, into, depth);
    }
  }

  /** @param {string[]} lines @param {number} i @param {string} mark @param {Node} into */
  code(lines, i, mark, into) {
    let end = i + 1;
    while (end < lines.length && !(lines[end].trim().startsWith(mark) && lines[end].trim().replaceAll(mark[0], '') === '')) end++;
    this.text(lines.slice(i + 1, end).join('\n'), this.add('code', this.add('pre', into)));
    return end + 1;
  }

  /** @param {string[]} lines @param {number} i @param {Node} into @param {number} depth */
  quote(lines, i, into, depth) {
    let end = i;
    while (end < lines.length && QUOTE.test(lines[end])) end++;
    this.blocks(lines.slice(i, end).map((line) => line.replace(QUOTE, '')), this.add('blockquote', into), depth + 1);
    return end;
  }

  /** @param {string[]} lines @param {number} i @param {Node} into @param {number} depth */
  list(lines, i, into, depth) {
    const ordered = /\d/.test(/** @type {RegExpExecArray} */ (ITEM.exec(lines[i]))[2]);
    const list = this.add(ordered ? 'ol' : 'ul', into);
    while (i < lines.length) {
      if (this.left <= 0 && list.firstChild) break;
      const mark = ITEM.exec(lines[i]);
      if (!mark || /\d/.test(mark[2]) !== ordered || isRule(lines[i])) break;
      const inside = [lines[i].slice(mark[0].length)];
      for (i++; i < lines.length && (/^(?: {2,}|\t)/.test(lines[i]) || lines[i].trim() === '' && /^(?: {2,}|\t)/.test(lines[i + 1] ?? '')); i++) {
        inside.push(lines[i].replace(/^(?: {1,4}|\t)/, ''));
      }
      const item = this.add('li', list);
      if (inside.length === 1) this.inline(inside[0], item);
      else this.blocks(inside, item, depth + 1);
      if (i < lines.length && lines[i].trim() === '' && ITEM.test(lines[i + 1] ?? '')) i++;
    }
    return i;
  }

  /** @param {string[]} lines @param {number} i @param {Node} into @param {number} depth */
  paragraph(lines, i, into, depth) {
    let end = i + 1;
    const begins = (/** @type {string} */ line) => line.trim() === '' || fenceOf(line) || line.length < 1000 && HEADING.test(line) || isRule(line)
      || depth < DEPTH && (QUOTE.test(line) || ITEM.test(line));
    while (end < lines.length && !begins(lines[end])) end++;
    this.inline(lines.slice(i, end).join('\n'), this.add('p', into));
    return end;
  }

  /**
   * One pass over the pieces of a text. A mark opens only if one that closes it comes
   * later, which is known from counts, not by looking for it.
   * @param {string} text @param {Node} into
   */
  inline(text, into) {
    const pieces = /** @type {string[]} */ (text.match(/`+|\*+|_+|\[\[[a-z0-9_/-]{1,255}\]\]|https?:\/\/[^\s<>"'`\]]{1,2000}|[^`*_[h]+|[[h]/g) ?? []);
    const left = count(pieces);
    /** @type {{mark: string, node: Node}[]} */
    const open = [];
    const here = () => open.at(-1)?.node ?? into;
    // Literal pieces become one node: 64 kB of a delimiter are no 64,000 nodes.
    let literal = '';
    const flush = () => {
      this.text(literal, here());
      literal = '';
    };
    for (let i = 0; i < pieces.length; i++) {
      const piece = /** @type {string} */ (pieces[i]);
      const rest = (left.get(piece) ?? 0) - 1;
      if (rest >= 0) left.set(piece, rest);
      const more = rest > 0;
      if (this.left <= 0 && !open.some((o) => o.mark === piece)) literal += piece;
      else if (piece[0] === '`') {
        const end = more ? pieces.indexOf(piece, i + 1) : -1;
        if (end < 0) literal += piece;
        else {
          flush();
          this.text(pieces.slice(i + 1, end).join(''), this.add('code', here()));
          for (; i < end; i++) left.set(pieces[i + 1], (left.get(pieces[i + 1]) ?? 0) - 1);
        }
      } else if (piece.startsWith('[[')) {
        flush();
        this.slug(piece, here());
      } else if (piece.startsWith('http') && piece.includes('://')) {
        flush();
        this.address(piece, here());
      } else if (emphasis(piece, pieces[i - 1], pieces[i + 1])) {
        const at = open.findLastIndex((o) => o.mark === piece);
        if (at >= 0 && !isBlank(pieces[i - 1]?.at(-1))) {
          flush();
          open.length = at;
        } else if (at < 0 && more && open.length < SPANS && !isBlank(pieces[i + 1]?.[0])) {
          flush();
          open.push({ mark: piece, node: this.add(piece.length === 1 ? 'em' : 'strong', here()) });
        } else literal += piece;
      } else literal += piece;
    }
    flush();
  }

  /** @param {string} piece @param {Node} into */
  slug(piece, into) {
    const slug = piece.slice(2, -2);
    if (!validSlug(slug)) {
      this.text(piece, into);
      return;
    }
    const button = this.add('button', into);
    button.setAttribute('type', 'button');
    button.setAttribute('class', 'slug-link');
    button.addEventListener('click', () => this.o.slugs(slug));
    this.text(slug, button);
  }

  /** @param {string} address @param {Node} into */
  address(address, into) {
    const span = this.add('span', into);
    span.setAttribute('class', 'address');
    this.text(address, span);
    if (this.o.copy) into.appendChild(this.o.copy(address));
  }
}

/** @param {string[]} pieces @returns {Map<string, number>} of each mark */
function count(pieces) {
  /** @type {Map<string, number>} */
  const n = new Map();
  for (const piece of pieces) if (piece[0] === '`' || piece[0] === '*' || piece[0] === '_') n.set(piece, (n.get(piece) ?? 0) + 1);
  return n;
}

/** @param {string | undefined} c nothing is blank too */
const isBlank = (c) => c === undefined || c === ' ' || c === '\n' || c === '\t' || c > '\x7f' && /\s/.test(c);

/** @param {string | undefined} c */
const isWord = (c) => c !== undefined && (c > '\x7f' ? /[\p{L}\p{N}]/u.test(c) : c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9');

/**
 * Whether a piece is a mark of emphasis: one that stands alone is none, nor is an
 * underscore within a word.
 * @param {string} piece @param {string | undefined} before @param {string | undefined} after
 */
function emphasis(piece, before, after) {
  if (piece !== '*' && piece !== '**' && piece !== '_' && piece !== '__') return false;
  const last = before?.at(-1), first = after?.[0];
  return !(isBlank(last) && isBlank(first)) && (piece[0] === '*' || !(isWord(last) && isWord(first)));
}
