/** The elements that show moments: in few words, with the whole date and time for whoever points at them. */
import { h } from './dom.ts';
import { exactly, shortTime } from './texts.ts';

/**
 * A moment as `format` words it, by default in its shortest form.
 * @param at ISO, or epoch milliseconds
 */
export function timeElement(at: string | number, format: (at: string | number) => string = shortTime) {
  return h('time', { datetime: new Date(at).toISOString(), title: exactly(at) }, format(at));
}
