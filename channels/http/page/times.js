/** The elements that show moments: in few words, with the whole date and time for whoever points at them. */
import { h } from './dom.js';
import { exactly, shortTime } from './texts.js';

/**
 * A moment as `format` words it, by default in its shortest form.
 * @param {string | number} at ISO, or epoch milliseconds
 * @param {(at: string | number) => string} [format]
 */
export function timeElement(at, format = shortTime) {
  return h('time', { datetime: new Date(at).toISOString(), title: exactly(at) }, format(at));
}
