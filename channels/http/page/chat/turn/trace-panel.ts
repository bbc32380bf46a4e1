/** What became of a turn: one sentence, its timeline, and what the model was sent, in a dialog. */
import type { WireTrace as Trace } from '../../../wire.ts';
import { closeLine, h } from '../../dom.ts';
import { exactly, money, number, say } from '../../texts.ts';
import { timeElement } from '../../times.ts';
import { promptPart } from './trace-prompt.ts';
import { messageOf } from '../../failures/in-place.ts';

/** A small button that opens the trace of a turn: the code that shows turns listens for the event `trace`. */
export function traceButton(turnId: string) {
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

/** The turn that such an event is about. */
export function traceOf(event: Event) {
  return event instanceof CustomEvent ? String(event.detail) : '';
}

/** Opens the dialog; it is filled when the trace has arrived. */
export async function showTrace(read: (include?: { prompt: boolean }) => Promise<Trace>) {
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

function parts({ why: reason, turnId, acceptedAt, cost, timeline }: Trace) {
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

function duration(ms: number) {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${number(ms / 1_000, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
    : `${number(Math.round(ms / 6_000) / 10)} min`;
}
