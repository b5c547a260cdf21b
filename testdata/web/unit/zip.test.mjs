import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 as reference } from 'node:zlib';
import { crc32, stored } from '../../../internal/web/src/zip.mjs';
import { chance } from './table.mjs';

/** Reads an archive as APPNOTE 6.3 has it, from its end, and refuses what is not so. */
function read(bytes) {
  const b = Buffer.from(bytes);
  const end = b.length - 22;
  assert.equal(b.readUInt32LE(end), 0x06054b50);
  const n = b.readUInt16LE(end + 10), size = b.readUInt32LE(end + 12), start = b.readUInt32LE(end + 16);
  assert.deepEqual([b.readUInt16LE(end + 4), b.readUInt16LE(end + 6), b.readUInt16LE(end + 8), b.readUInt16LE(end + 20), start + size], [0, 0, n, 0, end]);
  const files = [];
  let at = start, next = 0;
  for (let i = 0; i < n; i++) {
    assert.equal(b.readUInt32LE(at), 0x02014b50);
    const [length, local] = [b.readUInt16LE(at + 28), b.readUInt32LE(at + 42)];
    assert.deepEqual([b.readUInt16LE(at + 30), b.readUInt16LE(at + 32)], [0, 0]);
    const name = b.subarray(at + 46, at + 46 + length).toString();
    assert.equal(local, next, 'members lie one behind the other');
    assert.equal(b.readUInt32LE(local), 0x04034b50);
    // From the version on both headers say the same.
    assert.deepEqual(b.subarray(local + 4, local + 30), b.subarray(at + 6, at + 32));
    const [flags, method, time, day, crc, packed, plain] = [6, 8, 10, 12].map((o) => b.readUInt16LE(local + o)).concat([14, 18, 22].map((o) => b.readUInt32LE(local + o)));
    assert.deepEqual([flags, method, packed], [0x800, 0, plain]);
    assert.equal(b.subarray(local + 30, local + 30 + length).toString(), name);
    const data = b.subarray(local + 30 + length, local + 30 + length + plain);
    assert.equal(crc, reference(data));
    files.push({ name, bytes: new Uint8Array(data), date: new Date(Date.UTC(1980 + (day >> 9), (day >> 5 & 15) - 1, day & 31, time >> 11, time >> 5 & 63, (time & 31) * 2)) });
    next = local + 30 + length + plain;
    at += 46 + length;
  }
  assert.deepEqual([at, next], [end, start]);
  return files;
}

test('an archive gives back what was put into it', () => {
  const random = chance(9);
  for (let round = 0; round < 50; round++) {
    const files = Array.from({ length: random(20) }, (_, i) => ({
      name: `${['a', 'é/ß', '記憶', '😀'][random(4)]}/${i}.md`, bytes: Uint8Array.from({ length: random(3000) }, () => random(256)), date: new Date(Date.UTC(1980 + random(120), random(12), 1 + random(28), random(24), random(60), 2 * random(30))),
    }));
    assert.deepEqual(read(stored(files)), files);
  }
});

test('times beyond what an archive can say are brought within', () => {
  const years = (year) => read(stored([{ name: 'a', bytes: new Uint8Array(), date: new Date(Date.UTC(year, 5, 1)) }]))[0].date.getUTCFullYear();
  assert.deepEqual([years(1970), years(2000), years(2300)], [1980, 2000, 2107]);
});

test('sums are those of zlib', () => {
  for (const s of ['', 'a', '123456789', '\u0000'.repeat(1000)]) assert.equal(crc32(Buffer.from(s)), reference(s));
  assert.equal(crc32(Buffer.from('123456789')), 0xcbf43926);
});

test('more than an archive holds is refused', () => {
  const one = { name: 'a', bytes: new Uint8Array(), date: new Date(0) };
  assert.throws(() => stored(Array(65_536).fill(one)));
  assert.throws(() => stored([{ ...one, bytes: /** @type {any} */ ({ length: 2 ** 32 }) }]));
});
