/** The screen about dead letters: what was given up, queued again or deleted. */
import { confirmDelete } from '../confirm.js';
import { h } from '../dom.js';
import { button, moment, row, rows, section } from './parts.js';

/** @typedef {{ lane: string, seq: number, error: string, attempts: number, crashes: number, deadAt: string }} Letter */

/** @type {import('./parts.js').Screen} */
export async function deadLettersScreen(host) {
  /** @type {{ letters: Letter[], more: boolean }} */
  const { letters, more } = await host.ask('GET', '/v1/dead-letters');
  const shown = letters.map(({ lane, seq, error, attempts, crashes, deadAt }) => {
    const name = `${lane}#${seq}`;
    const retry = () => void host.act(() => host.ask('POST', '/v1/dead-letters/retry', { lane, seq }));
    const drop = async () => {
      if (!(await confirmDelete(`Delete ${name} for good?`))) return;
      await host.act(() => host.ask('POST', '/v1/dead-letters/drop', { lane, seq }));
    };
    const about = `${moment(deadAt)} · ${attempts} failed attempts, ${crashes} crashes · ${error}`;
    return row(
      name,
      about,
      button('Retry', name, retry),
      button('Delete', name, () => void drop(), 'danger'),
    );
  });
  const rest = more ? [h('p', { class: 'quiet' }, 'There are more; the newest are listed.')] : [];
  return [section('Dead letters', rows(shown, 'Nothing was given up.'), ...rest)];
}
