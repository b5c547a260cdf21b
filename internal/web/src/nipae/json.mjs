// JSON as RFC 8259 and RFC 7493 have it: no name twice in an object, no half of a
// surrogate pair. JSON.parse takes both.

const MAX_DEPTH = 10_000;

/**
 * The value that a text is, or undefined.
 * @param {string} text @returns {unknown}
 */
export function strictJSON(text) {
  if (!text.isWellFormed()) return undefined;
  try {
    const value = JSON.parse(text, undefined);
    return namesOnce(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether no object of a valid JSON text has a name twice and no string holds half
 * of a pair. One pass, without recursion.
 * @param {string} text
 */
function namesOnce(text) {
  /** @type {(Set<string> | null)[]} */
  const open = []; // the names of each object that is open; null is an array
  let name = false; // whether the next string is a name
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '{': open.push(new Set()); name = true; break;
      case '[': open.push(null); name = false; break;
      case '}': case ']': open.pop(); name = false; break;
      case ',': name = open[open.length - 1] instanceof Set; break;
      case ':': name = false; break;
      case '"': {
        const end = endOfString(text, i);
        const raw = text.slice(i, end + 1);
        const value = raw.includes('\\') ? String(JSON.parse(raw)) : raw.slice(1, -1);
        if (!value.isWellFormed()) return false;
        const names = open[open.length - 1];
        if (name && names) {
          if (names.has(value)) return false;
          names.add(value);
        }
        i = end;
      }
    }
    if (open.length > MAX_DEPTH) return false;
  }
  return true;
}

/** @param {string} text @param {number} start of its quotation mark */
function endOfString(text, start) {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}
