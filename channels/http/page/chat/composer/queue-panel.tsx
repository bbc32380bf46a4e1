/**
 * What waits behind the running answer: shown above the message field, edited, sent now, dropped; and how messages wait.
 */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WireQueue } from '../../../wire.ts';
import { api, ApiError } from '../../api.ts';
import { showError } from '../../failures/show-error.ts';
import { NewestAnswer, soon } from '../../newest.ts';
import { say } from '../../texts.ts';
import type { Composer } from './composer.tsx';

type Waiting = WireQueue['messages'][number];

/** The queue modes, each with what it does with a message. */
const MODES: [WireQueue['mode'], string][] = [
  ['queue', say('page.queue.mode_queue')],
  ['steer', say('page.queue.mode_steer')],
  ['interrupt', say('page.queue.mode_interrupt')],
  ['collect', say('page.queue.mode_collect')],
];

/** Events after which something else may wait. */
const CHANGING = new Set([
  'message_received',
  'turn_started',
  'turn_ended',
  'messages_joined',
  'queue_changed',
]);
/** Events come in bursts; the list is read once for all of them. */
const READ_AFTER_MS = 60;

/** What waits in the open chat. */
export class Queue {
  readonly #key: string;
  readonly shown = signal<WireQueue | undefined>(undefined);
  readonly #newest = new NewestAnswer();
  /** Reads the list again soon. */
  readonly refreshSoon = soon(() => void this.#show(api.queue(this.#key)), READ_AFTER_MS);

  constructor(key: string) {
    this.#key = key;
  }

  /** An event of the chat has come. */
  apply(type: string): void {
    if (CHANGING.has(type)) this.refreshSoon();
  }

  edit({ turnId }: Waiting, content: string): void {
    void this.#show(api.editWaiting(this.#key, turnId, content));
  }

  sendNow({ turnId }: Waiting): void {
    void this.#show(api.sendNow(this.#key, turnId));
  }

  drop({ turnId }: Waiting): void {
    void this.#show(api.dropWaiting(this.#key, turnId));
  }

  async setMode(queueMode: string): Promise<void> {
    await api.changeSession(this.#key, { queueMode }).catch(showError);
    this.refreshSoon();
  }

  /** Shows the queue that a request answers with. */
  async #show(request: Promise<WireQueue>): Promise<void> {
    const mayShow = this.#newest.begin();
    try {
      const queue = await request;
      if (mayShow()) this.shown.value = queue;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return;
      showError(error);
      this.refreshSoon();
    }
  }
}

/** The panel above the message field: while messages wait, and while one is written that would wait. */
export function QueuePanel({ queue, composer }: { queue: Queue; composer: Composer }): JSX.Element {
  const { busy = false, mode = 'queue', messages = [] } = queue.shown.value ?? {};
  const isHidden = messages.length === 0 && !(busy && !composer.isEmpty.value);
  return (
    <section id="queue" class="queue" aria-label={say('page.queue')} hidden={isHidden}>
      <label class="queue-mode">
        {say('page.queue.mode')}{' '}
        <select
          id="queue-mode"
          value={mode}
          onChange={({ currentTarget }) => void queue.setMode(currentTarget.value)}
        >
          {MODES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <ol class="queue-list">
        {messages.map((message) => (
          <QueueRow key={message.turnId} queue={queue} message={message} />
        ))}
      </ol>
    </section>
  );
}

function QueueRow({ queue, message }: { queue: Queue; message: Waiting }): JSX.Element {
  const [draft, setDraft] = useState<string>();
  const { content, senderName, isEditable } = message;
  const button = (label: string, act: () => void): JSX.Element => (
    <button type="button" class="text-button" onClick={act}>
      {label}
    </button>
  );
  if (draft === undefined)
    return (
      <li class="queue-row">
        <span class="queue-text" dir="auto">
          {senderName ? `${senderName}: ${content}` : content}
        </span>
        {isEditable && button(say('page.edit'), () => setDraft(content))}
        {button(say('page.queue.now'), () => queue.sendNow(message))}
        {button(say('page.drop'), () => queue.drop(message))}
      </li>
    );
  const end = (): void => setDraft(undefined);
  return (
    <li class="queue-row">
      <textarea
        ref={(field) => field?.focus()}
        dir="auto"
        aria-label={say('page.queue.message')}
        rows={2}
        value={draft}
        onInput={({ currentTarget }) => setDraft(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.stopPropagation();
          end();
        }}
      />
      {button(say('page.cancel'), end)}
      <button
        type="button"
        class="primary"
        onClick={() => {
          end();
          queue.edit(message, draft);
        }}
      >
        {say('page.save')}
      </button>
    </li>
  );
}
