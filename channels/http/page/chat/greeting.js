/** What an empty chat shows: a question, and prompts to begin with. */
import { byId, h } from '../dom.js';

/** Prompts that fill the message field. */
const STARTERS = [
  'Explain something to me: ',
  'Make a plan for ',
  'Help me write a message to ',
  'Read this file and summarise it: ',
];

/**
 * Shows or removes the greeting.
 * @param {boolean} shown
 * @param {(prompt: string) => void} begin puts a prompt into the message field
 */
export function showGreeting(shown, begin) {
  document.getElementById('greeting')?.remove();
  if (!shown) return;
  const starters = STARTERS.map((prompt) =>
    h('button', { type: 'button', class: 'starter', onclick: () => begin(prompt) }, `${prompt.trim()} …`),
  );
  byId('transcript', HTMLElement).append(
    h(
      'div',
      { id: 'greeting', class: 'greeting' },
      h('img', { src: byId('icon', HTMLLinkElement).href, alt: '', width: 48, height: 48 }),
      h('p', { class: 'greeting-words' }, 'What would you like to talk about?'),
      h('div', { class: 'starters' }, ...starters),
      h('p', { class: 'quiet' }, 'Write a message below, or ', h('code', {}, '/'), ' for commands.'),
    ),
  );
}
