/** What became of a turn: one sentence, its timeline, and what the model was sent, in a dialog. */
import { closeLine, h } from '../../dom.js';
import { exactly, money, number, say } from '../../texts.js';
import { timeElement } from '../../times.js';
import { promptPart } from './trace-prompt.js';
import { messageOf } from '../../failures/in-place.js';

/** @typedef {import('../../../wire.ts').WireTrace} Trace */

/**
 * A small button that opens the trace of a turn: the code that shows turns listens for the event `trace`.
 * @param {string} turnId
 */
export function traceButton(turnId) {
  const button = h(
    'button',
    { type: 'button', class: 'copy', 'aria-label': say('page.trace.what') },
    say('page.trace'),
  );
  button.addEventListener('click', () =>
    button.dispatchEvent(new CustomEvent('trace', { bubbles: true, detail: turnId })),
  );
  return button;
}

/**
 * The turn that such an event is about.
 * @param {Event} event
 */
export function traceOf(event) {
  return event instanceof CustomEvent ? String(event.detail) : '';
}

/**
 * Opens the dialog; it is filled when the trace has arrived.
 * @param {(include?: { prompt: boolean }) => Promise<Trace>} read
 */
export async function showTrace(read) {
  const body = h('div', { class: 'trace-body', 'aria-live': 'polite' }, say('page.trace.reading'));
  const close = closeLine(() => dialog.close());
  const dialog = h('dialog', { class: 'trace', 'aria-label': say('page.trace.of') }, body, close);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    body.replaceChildren(
      ...parts(await read()),
      promptPart(() => read({ prompt: true })),
    );
  } catch (error) {
    body.replaceChildren(h('p', { class: 'error-text' }, messageOf(error)));
  }
}

/** @param {Trace} trace */
function parts({ why: reason, turnId, acceptedAt, cost, timeline }) {
  const startMs = new Date(acceptedAt).getTime();
  const rows = timeline.map((line) =>
    h(
      'tr',
      { class: line.isError === true ? 'failed' : undefined },
      h(
        'td',
        { class: 'trace-at' },
        timeElement(startMs + line.atMs, () => `+${duration(line.atMs)}`),
      ),
      h('td', { class: 'trace-at' }, line.ms === undefined ? '' : duration(line.ms)),
      h('td', { dir: 'auto' }, line.text),
    ),
  );
  return [
    h('p', { class: 'trace-why' }, reason),
    h('p', { class: 'trace-id' }, timeElement(acceptedAt, exactly), ` · ${turnId}`),
    ...(cost === null ? [] : [h('p', { class: 'trace-id' }, say('page.trace.cost', { cost: money(cost) }))]),
    h('table', {}, h('tbody', {}, ...rows)),
  ];
}

/** @param {number} ms */
function duration(ms) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${number(ms / 1_000, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
    : `${number(Math.round(ms / 6_000) / 10)} min`;
}
