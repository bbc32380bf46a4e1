/** The screen about what is remembered about people: read in pages, deleted one by one. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { button, form, labelled, moment, row, rows, section } from './parts.js';
import { say, sayParts } from '../texts.ts';

/** @typedef {{ id: number, userId: string, text: string, session: string, untrusted: boolean, createdAt: string }} Memory */

/** Whose facts are shown; kept while the page is open. */
let person = '';

/** @type {import('./parts.js').Screen} */
export async function memoriesScreen(host) {
  const list = h('div', {});
  /** @param {number | null} before */
  const load = async (before) => {
    const query = `?user=${encodeURIComponent(person)}${before === null ? '' : `&before=${before}`}`;
    /** @type {{ memories: Memory[], next: number | null }} */
    const { memories, next } = await host.ask('GET', `/v1/memories${query}`);
    list.append(
      rows(
        memories.map((memory) => fact(host, memory)),
        say('page.set.memory_none'),
      ),
    );
    if (next === null) return;
    const more = h('button', { type: 'button' }, say('page.set.memory_older'));
    more.addEventListener('click', () => {
      more.remove();
      void load(next).catch((error) => host.act(() => Promise.reject(error)));
    });
    list.append(more);
  };
  const whose = h('input', {
    type: 'text',
    value: person,
    placeholder: say('page.set.memory_whose'),
    autocomplete: 'off',
  });
  const show = () => {
    person = whose.value.trim();
    void host.act(async () => undefined);
  };
  await load(null);
  return [
    section(
      say('page.set.facts'),
      form(say('page.set.show'), show, labelled(say('page.set.of_whom'), whose)),
      list,
    ),
  ];
}

/**
 * @param {import('./parts.js').ScreenHost} host
 * @param {Memory} memory
 */
function fact(host, { id, userId, text, session, untrusted, createdAt }) {
  const remove = async () => {
    if (await confirmDelete(say('page.set.memory_delete', { text })))
      await host.act(() => host.ask('DELETE', `/v1/memories/${id}`));
  };
  const values = { userId, session, moment: moment(createdAt) };
  const about = sayParts(untrusted ? 'page.set.memory_unverified' : 'page.set.memory_about', values);
  return row(
    text,
    about,
    button(say('page.delete'), text, () => void remove(), 'danger'),
  );
}
