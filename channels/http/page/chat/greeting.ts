/** What an empty chat shows: a question, and prompts to begin with. */
import { byId, h } from '../dom.ts';
import { say, sayParts } from '../texts.ts';

/** Prompts that fill the message field. */
const STARTERS = [
  say('page.greeting.explain'),
  say('page.greeting.plan'),
  say('page.greeting.write'),
  say('page.greeting.read'),
];

/**
 * Shows or removes the greeting.
 * @param begin puts a prompt into the message field
 */
export function showGreeting(isShown: boolean, begin: (prompt: string) => void) {
  document.getElementById('greeting')?.remove();
  if (!isShown) return;
  const starters = STARTERS.map((prompt) =>
    h('button', { type: 'button', class: 'starter', onclick: () => begin(prompt) }, `${prompt.trim()} …`),
  );
  byId('transcript', HTMLElement).append(
    h(
      'div',
      { id: 'greeting', class: 'greeting' },
      h('img', { src: byId('icon', HTMLLinkElement).href, alt: '', width: 48, height: 48 }),
      h('p', { class: 'greeting-text' }, say('page.greeting.what')),
      h('div', { class: 'starters' }, ...starters),
      h('p', { class: 'quiet' }, ...sayParts('page.greeting.below', { slash: h('code', {}, '/') })),
    ),
  );
}
