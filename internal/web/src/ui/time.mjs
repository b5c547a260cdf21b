// Times as people read them, in the reader's own zone.
import { h } from './dom.mjs';
import { W } from '../words.mjs';

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const minute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** The last second that Date knows. */
const LAST = 8.64e12;

/**
 * @param {number | null | undefined} seconds since 1970
 * @param {boolean} [due] a time that is to come, as it should
 * @returns {HTMLElement | string}
 */
export function when(seconds, due = false) {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || Math.abs(seconds) > LAST) return W.time.unknown;
  const date = new Date(seconds * 1000);
  const iso = date.toISOString();
  return h('time', { datetime: iso, title: iso.replace('.000', '') }, told(date, due));
}

/** @param {Date} date @param {boolean} [due] */
export function told(date, due = false) {
  const now = new Date();
  if (!due && date.getTime() > now.getTime() + 120_000) return `${day.format(date)}, ${minute.format(date)} ${W.time.ahead}`;
  if (date.toDateString() === now.toDateString()) return `${W.time.today} ${minute.format(date)}`;
  return `${day.format(date)}, ${minute.format(date)}`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
