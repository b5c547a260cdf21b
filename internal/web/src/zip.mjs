// A ZIP file whose members are stored as they are (PKWARE APPNOTE 6.3, without ZIP64):
// at most 65,535 files and 4 GiB.

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** @param {Uint8Array} bytes */
export function crc32(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = table[(c ^ byte) & 255] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** @param {{name: string, bytes: Uint8Array, date: Date}[]} files @returns {Uint8Array<ArrayBuffer>} */
export function stored(files) {
  const encoder = new TextEncoder();
  if (files.length > 65_535 || files.reduce((sum, f) => sum + f.bytes.length + 4 * f.name.length + 100, 0) > 0xffffffff) throw new Error('too many files');
  /** @type {Uint8Array[]} */
  const parts = [], directory = [];
  let offset = 0;
  for (const { name, bytes, date } of files) {
    const title = encoder.encode(name);
    const [day, time] = dos(date);
    // Version 2.0, names in UTF-8 (bit 11), stored.
    const common = [[20, 2], [0x800, 2], [0, 2], [time, 2], [day, 2], [crc32(bytes), 4], [bytes.length, 4], [bytes.length, 4], [title.length, 2], [0, 2]];
    const local = fields([[0x04034b50, 4], ...common]);
    directory.push(fields([[0x02014b50, 4], [0x0314, 2], ...common, [0, 2], [0, 2], [0, 2], [0o100600 * 65536, 4], [offset, 4]]), title);
    parts.push(local, title, bytes);
    offset += local.length + title.length + bytes.length;
  }
  const size = directory.reduce((sum, p) => sum + p.length, 0);
  return concat([...parts, ...directory, fields([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]])]);
}

/** @param {number[][]} list value and bytes, little-endian */
function fields(list) {
  const out = new Uint8Array(list.reduce((sum, [, n]) => sum + n, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const [value, n] of list) {
    if (n === 4) view.setUint32(at, value >>> 0, true);
    else view.setUint16(at, value, true);
    at += n;
  }
  return out;
}

/** Day and time of MS-DOS, in UTC. @param {Date} date */
function dos(date) {
  const year = Math.min(Math.max(date.getUTCFullYear(), 1980), 2107);
  return [(year - 1980) << 9 | (date.getUTCMonth() + 1) << 5 | date.getUTCDate(), date.getUTCHours() << 11 | date.getUTCMinutes() << 5 | date.getUTCSeconds() >> 1];
}

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const out = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
