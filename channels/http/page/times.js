/** The only elements that show moments: in short, with the whole date and time for whoever points at them. */
import { h } from './dom.js';
import { exactly, shortTime } from './texts.js';

/**
 * A moment as `shown` words it, by default in its shortest form.
 * @param {string} iso
 * @param {(iso: string) => string} [shown]
 */
export function timeElement(iso, shown = shortTime) {
  return h('time', { datetime: iso, title: exactly(iso) }, shown(iso));
}
