/**
 * What people do with a turn besides reading it: fork, ask again, choose an answer, edit, put back. Buttons announce it
 * with an event.
 */
import type { TurnVisibility, TurnMarks } from './turn-visibility.ts';
import type { Message, Api } from '../../api.ts';
import { byId, copyButton, h, icon } from '../../dom.ts';
import { say } from '../../texts.ts';
import { timeElement } from '../../times.ts';
import { traceButton } from './trace-panel.ts';

type Act =
  | { do: 'fork'; seq: number }
  | { do: 'retry' }
  | { do: 'choose'; turnId: string }
  | { do: 'edit'; seq: number; content: string; files: readonly string[] };

const FORK = 'M6 3v12M9 18a3 3 0 1 1-6 0a3 3 0 0 1 6 0M21 6a3 3 0 1 1-6 0a3 3 0 0 1 6 0M18 9a9 9 0 0 1-9 9';
const AGAIN = 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6';
const PENCIL = 'M4 20l4-1L19 8l-3-3L5 16zM14 7l3 3';

/**
 * A button of a turn; the code that shows the conversation acts on it.
 * @param act without one it is disabled
 */
function actButton(label: string, face: Node | string, act: Act | undefined, kind: string = 'turn-act') {
  return h(
    'button',
    {
      type: 'button',
      class: kind,
      'aria-label': label,
      title: label,
      disabled: act === undefined,
      onclick: (event) => event.target?.dispatchEvent(new CustomEvent('act', { bubbles: true, detail: act })),
    },
    face,
  );
}

/** What is shown under a stored answer; `tries` is the place of the switch between answers. */
export function footOf({ seq, turnId, content, createdAt, model }: Message, tries: HTMLElement) {
  // A message that a turn sent along the way has an id that begins with the turn's.
  const [turn = ''] = turnId.split('.', 1);
  return [
    timeElement(createdAt),
    tries,
    ...(content === '' ? [] : [copyButton(() => content, say('page.act.copy'))]),
    actButton(say('page.act.again'), icon(AGAIN), { do: 'retry' }, 'turn-act only-last'),
    actButton(say('page.act.fork'), icon(FORK), { do: 'fork', seq }),
    traceButton(turn),
    ...(model
      ? [
          h(
            'span',
            {
              class: 'answered-by',
              title: say('page.act.answered_by', { model }),
            },
            model,
          ),
        ]
      : []),
  ];
}

/** `‹ 1/2 ›` under one of several answers; nothing for a single one. */
export function trySwitch(place: TurnVisibility['place']) {
  if (place === undefined || place.count < 2) return [];
  const { nth, count, before, after } = place;
  const choose = (turnId: string | undefined): Act | undefined =>
    turnId === undefined ? undefined : { do: 'choose', turnId };
  return [
    h(
      'span',
      {
        class: 'try-switch',
        role: 'group',
        'aria-label': say('page.act.tries'),
      },
      actButton(say('page.act.earlier'), '‹', choose(before)),
      h('span', {}, `${nth}/${count}`),
      actButton(say('page.act.later'), '›', choose(after)),
    ),
  ];
}

/** The line under a turn that was taken back, or dropped before it had an answer. */
export function takenBackLine({ turnId, answerLeftOut }: TurnMarks) {
  if (answerLeftOut === undefined) return [say('page.act.dropped')];
  return [
    `${say('page.act.undone')} `,
    actButton(say('page.act.put_back'), say('page.act.put_back'), { do: 'choose', turnId }, 'text-button'),
  ];
}

/** The pencil next to one's own question; `edit` opens the field. */
export function pencil(edit: () => void) {
  const label = say('page.act.edit');
  return h(
    'button',
    {
      type: 'button',
      class: 'turn-act pencil',
      'aria-label': label,
      title: label,
      onclick: edit,
    },
    icon(PENCIL),
  );
}

/** The field in which a question is edited. */
export function editField(
  { seq, content, files }: { seq: number; content: string; files: readonly string[] },
  close: () => void,
) {
  const text = h('textarea', {
    class: 'edit-text',
    dir: 'auto',
    'aria-label': say('page.act.message'),
    rows: 3,
  });
  text.value = content;
  const form = h(
    'form',
    { class: 'edit-question' },
    text,
    h('p', { class: 'quiet' }, say('page.act.edit_hint')),
    h(
      'div',
      { class: 'confirm-buttons' },
      h('button', { type: 'button', onclick: close }, say('page.cancel')),
      h('button', { type: 'submit', class: 'primary' }, say('page.send')),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (text.value.trim() === '' && files.length === 0) return;
    form.dispatchEvent(
      new CustomEvent('act', {
        bubbles: true,
        detail: { do: 'edit', seq, content: text.value, files },
      }),
    );
    close();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    close();
  });
  setTimeout(() => text.focus());
  return form;
}

/** Applies the actions of the buttons. */
export class TurnActs {
  #api;
  #key;
  #host;
  #isBusy = false;

  constructor(
    api: Api,
    key: string,
    host: {
      showError: (error: unknown) => void;
      refresh: () => Promise<void>;
      forked: (key: string, message?: { content: string; files: readonly string[] }) => void;
    },
  ) {
    this.#api = api;
    this.#key = key;
    this.#host = host;
  }

  /** Listens to the buttons in the conversation until `signal` aborts. */
  listen(signal: AbortSignal) {
    const list = byId('transcript', HTMLElement);
    list.addEventListener('act', (event) => void this.#act((event as CustomEvent<Act>).detail), {
      signal,
    });
  }

  /** One at a time: a second press while the first is under way does nothing. */
  async #act(act: Act) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await this.#applyAct(act);
    } catch (error) {
      this.#host.showError(error);
    } finally {
      this.#isBusy = false;
    }
  }

  async #applyAct(act: Act) {
    if (act.do === 'retry') {
      const { note } = await this.#api.conversations.again(this.#key, 'retry');
      if (note !== undefined) this.#host.showError(note);
      await this.#host.refresh();
    } else if (act.do === 'choose') {
      await this.#api.conversations.choose(this.#key, act.turnId);
      await this.#host.refresh();
    } else {
      const before = act.do === 'edit' ? { before: true } : {};
      const { key, leftBehind } = await this.#api.conversations.fork(this.#key, { seq: act.seq, ...before });
      if (leftBehind > 0) this.#host.showError(say('page.act.left_behind', { count: leftBehind }));
      this.#host.forked(key, act.do === 'edit' ? { content: act.content, files: act.files } : undefined);
    }
  }
}
