/** The screen about dead letters: what was given up, queued again or deleted. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, moment, row, rows, section } from './parts.js';
import { say, sayParts } from '../texts.ts';

/** @typedef {{ lane: string, seq: number, error: string, attempts: number, crashes: number, deadAt: string, text?: string }} Letter */

/** @type {import('./parts.js').Screen} */
export async function deadLettersScreen(host) {
  /** @type {{ letters: Letter[], more: boolean }} */
  const { letters, more } = await host.ask('GET', '/v1/dead-letters');
  const letterRows = letters.map(({ lane, seq, error, attempts, crashes, deadAt, text }) => {
    const name = `${lane}#${seq}`;
    const retry = () => void host.act(() => host.ask('POST', '/v1/dead-letters/retry', { lane, seq }));
    const drop = async () => {
      if (!(await confirmDelete(say('page.set.letter_delete', { name })))) return;
      await host.act(() => host.ask('POST', '/v1/dead-letters/drop', { lane, seq }));
    };
    const about = sayParts('page.set.letter_about', { moment: moment(deadAt), attempts, crashes, error });
    const element = row(
      name,
      about,
      button(say('page.set.retry'), name, retry),
      button(say('page.delete'), name, () => void drop(), 'danger'),
    );
    if (text !== undefined) element.append(h('blockquote', { class: 'letter-text', dir: 'auto' }, text));
    return element;
  });
  const rest = more ? [h('p', { class: 'quiet' }, say('page.set.letters_more'))] : [];
  return [section(say('page.set.dead_letters'), rows(letterRows, say('page.set.no_letters')), ...rest)];
}
