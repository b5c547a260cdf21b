// Takes what looks like a key, a token or a password out of a text, by the rules and
// the files of engramctl's own check for secrets (internal/secrets).
import { Scanner } from './secrets/scan.mjs';

/**
 * @param {string} text
 * @returns {{text: string, count: number}} with "[redacted: KIND]" in the place of each
 */
export function redact(text) {
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  const found = new Scanner(binary).all();
  if (!found.length) return { text, count: 0 };
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let out = '', at = 0;
  for (const { kind, start, end } of found) {
    out += `${decoder.decode(bytes.subarray(at, start))}[redacted: ${kind}]`;
    at = end;
  }
  return { text: out + decoder.decode(bytes.subarray(at)), count: found.length };
}
