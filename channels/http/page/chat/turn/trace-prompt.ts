/** What the newest model call of a turn was sent, read when someone opens it. */
import type { WireTrace as Trace } from '../../../wire.ts';
import { h } from '../../dom.ts';
import { number, say } from '../../texts.ts';
import { messageOf } from '../../failures/in-place.ts';

type Prompt = NonNullable<Trace['prompt']>;

/** A folded part that reads the prompt when it is opened for the first time. */
export function promptPart(read: () => Promise<Trace>) {
  const body = h('div', { class: 'trace-prompt' });
  const part = h('details', {}, h('summary', {}, say('page.trace.prompt')), body);
  let isAsked = false;
  const show = async () => {
    isAsked = true;
    body.replaceChildren(h('p', { class: 'quiet' }, say('page.trace.reading')));
    try {
      const { prompt } = await read();
      body.replaceChildren(...(prompt ? partsOf(prompt) : [h('p', {}, say('page.trace.no_prompt'))]));
    } catch (error) {
      isAsked = false;
      body.replaceChildren(h('p', { class: 'error-text' }, messageOf(error)));
    }
  };
  part.addEventListener('toggle', () => {
    if (part.open && !isAsked) void show();
  });
  return part;
}

function partsOf({ iteration, model, messages, omitted, tools }: Prompt) {
  const offered = tools.map(({ name, tokens }) => `${name} (≈ ${number(tokens)})`).join(', ');
  return [
    h('p', {}, say('page.trace.prompt_of', { number: iteration, model: model || '?' })),
    h(
      'p',
      { class: 'trace-id' },
      offered === '' ? say('page.trace.no_tools') : say('page.trace.tools', { tools: offered }),
    ),
    ...messages.flatMap((message, index) => [
      messagePart(message),
      ...(omitted > 0 && index === 0
        ? [h('p', { class: 'quiet' }, say('page.trace.omitted', { count: omitted }))]
        : []),
    ]),
  ];
}

function messagePart({ role, tokens, content }: Prompt['messages'][number]) {
  return h(
    'details',
    { class: 'trace-message' },
    h(
      'summary',
      {},
      h('span', { class: 'trace-role' }, say(`page.trace.role_${role}`)),
      h('span', { class: 'trace-at' }, say('page.trace.tokens', { tokens: number(tokens) })),
      h('span', { class: 'trace-first', dir: 'auto' }, content.slice(0, 120)),
    ),
    h('pre', { dir: 'auto', tabindex: 0 }, content),
  );
}
