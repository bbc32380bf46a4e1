/** What is remembered about the person who is signed in: read, and forgotten one by one. */
import { confirmDelete } from '../confirm.ts';
import { closeLine, h } from '../dom.ts';
import { dayAndClock, say, sayParts } from '../texts.ts';
import { timeElement } from '../times.ts';
import { attempt } from '../failures/in-place.js';

/** @typedef {{ id: number, text: string, session: string, untrusted: boolean, createdAt: string }} Memory */

/**
 * Opens the list, which is read each time.
 * @param {import('../api.ts').Api} api
 */
export async function showMemories(api) {
  const note = h('p', { class: 'error-text', role: 'alert' });
  const list = h('div', { 'aria-live': 'polite' }, say('page.memory.reading'));
  const close = closeLine(() => dialog.close());
  const dialog = h(
    'dialog',
    { class: 'trace memory', 'aria-label': say('page.memory.title') },
    h('h2', {}, say('page.memory.title')),
    h('p', { class: 'quiet' }, say('page.memory.how')),
    list,
    note,
    close,
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  const read = async () => {
    /** @type {{ memories: Memory[] }} */
    const { memories } = await api.ask('GET', '/v1/me/memories');
    list.replaceChildren(listOf(memories, (memory) => void attempt(note, () => forget(memory))));
  };
  /** @param {Memory} memory */
  const forget = async ({ id, text }) => {
    if (!(await confirmDelete(say('page.set.memory_delete', { text })))) return;
    await api.ask('DELETE', `/v1/me/memories/${id}`);
    await read();
  };
  await attempt(note, read);
}

/**
 * @param {Memory[]} memories
 * @param {(memory: Memory) => void} forget
 */
function listOf(memories, forget) {
  if (memories.length === 0) return h('p', {}, say('page.memory.none'));
  const rows = memories.map((memory) => {
    const { text, session, untrusted, createdAt } = memory;
    const values = { session, moment: timeElement(createdAt, dayAndClock) };
    return h(
      'li',
      { class: 'linked-row' },
      h('span', { dir: 'auto' }, text),
      h(
        'span',
        { class: 'quiet' },
        ...sayParts(untrusted ? 'page.memory.unverified' : 'page.memory.from', values),
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'text-button',
          'aria-label': say('page.memory.forget_of', { text }),
          onclick: () => forget(memory),
        },
        say('page.memory.forget'),
      ),
    );
  });
  return h('ul', { class: 'linked-list' }, ...rows);
}
