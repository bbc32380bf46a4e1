/** The message field: grows with its text, brings files, sends on Enter; its button sends, or stops the running answer. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { StoredFile } from '../../api.ts';
import { channelOf } from '../../chats/chat-names.ts';
import { CommandList, CommandMenu } from '../../commands/command-menu.tsx';
import { Icon } from '../../parts/icon.tsx';
import { number, say } from '../../texts.ts';
import type { ChatChoices } from '../chat-choices.ts';
import { draftOf, keepDraft } from './drafts.ts';
import { FileTray, Tray } from './file-tray.tsx';
import { Dictation, Microphone } from './microphone.tsx';

const MAX_HEIGHT_PX = 220;
/** From this share of the context on, the ring warns. */
const NEARLY_FULL = 0.9;

interface ComposerHost {
  send: (content: string, files: StoredFile[]) => void;
  stop: () => void;
}

/** Puts the cursor into the field, once that is drawn as it is now. */
export function focusDraft(): void {
  queueMicrotask(() => document.getElementById('draft')?.focus());
}

/** The message that is being written in a chat. */
export class Composer {
  readonly #key: string;
  readonly host: ComposerHost;
  readonly tray: FileTray;
  readonly dictation: Dictation;
  readonly menu = new CommandMenu((text) => this.write(text));
  readonly text = signal('');
  /** Why the last message was not accepted. */
  readonly refusal = signal('');
  /** Only chats of this channel can be written in. */
  readonly isWritable: boolean;
  readonly isRunning: ReadonlySignal<boolean>;
  readonly isEmpty = computed(() => this.text.value.trim() === '' && this.tray.files.value.length === 0);
  /** There is a text or a file, and every file has arrived. */
  readonly maySend = computed(() => !this.isEmpty.value && !this.tray.isWaiting.value && this.isWritable);
  /** The button stops the running answer: nothing is written that it could send. */
  readonly stops = computed(() => this.isRunning.value && (this.isEmpty.value || !this.isWritable));

  constructor(key: string, isRunning: ReadonlySignal<boolean>, host: ComposerHost) {
    this.#key = key;
    this.isWritable = key.startsWith('http:');
    this.isRunning = isRunning;
    this.host = host;
    this.text.value = draftOf(key);
    this.tray = new FileTray(key, this.isWritable);
    this.dictation = new Dictation((words) => {
      const text = this.text.value;
      this.write(text === '' || /\s$/.test(text) ? `${text}${words}` : `${text} ${words}`);
      this.focus();
    });
  }

  /** Why nothing can be written here; empty = it can. */
  get note(): string {
    return this.isWritable ? '' : say('page.chat.elsewhere', { label: channelOf(this.#key) });
  }

  /** Another chat is opened: files and a recording for this one are dropped. */
  close(): void {
    this.tray.close();
    this.dictation.cancel();
  }

  write(text: string): void {
    this.text.value = text;
    this.refusal.value = '';
    keepDraft(this.#key, text);
  }

  send(): void {
    if (!this.maySend.value) return;
    const content = this.text.value;
    const files = this.tray.takeAll();
    this.write('');
    this.host.send(content, files);
  }

  /** Puts the cursor into the field; not on a phone, where a keyboard would cover the chat. */
  focus(): void {
    if (!matchMedia('(pointer: coarse)').matches) focusDraft();
  }

  /**
   * Takes back a message that was not sent, with the reason next to it if the gateway refused it; false when another one is
   * being written.
   */
  giveBack(content: string, reason?: string): boolean {
    if (this.text.value !== '' || this.tray.files.value.length > 0) return false;
    this.tray.giveBack();
    this.write(content);
    if (reason !== undefined) this.refusal.value = say('page.question.unsent', { why: reason });
    focusDraft();
    return true;
  }
}

/** The field with what changes the next message. */
export function MessageField({
  composer,
  choices,
}: {
  composer: Composer;
  choices: ChatChoices;
}): JSX.Element {
  const { tray, isWritable, note, refusal } = composer;
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => tray.takeFrom(event, event.clipboardData);
    addEventListener('paste', paste);
    return () => removeEventListener('paste', paste);
  }, [tray]);
  return (
    <form
      id="composer"
      class={`composer${isWritable ? '' : ' read-only'}`}
      onSubmit={(event) => {
        event.preventDefault();
        composer.send();
      }}
    >
      <CommandList menu={composer.menu} />
      <Tray tray={tray} focusField={focusDraft} />
      <p id="composer-refusal" class="error-text" role="alert">
        {refusal}
      </p>
      <div class="composer-box" hidden={!isWritable && !composer.stops.value}>
        <Attach tray={tray} />
        <Draft composer={composer} />
        <ContextRing use={choices.contextUse.value} />
        <Microphone dictation={composer.dictation} />
        <SendOrStop composer={composer} />
      </div>
      <p id="composer-note" class="composer-note quiet">
        {note}
      </p>
    </form>
  );
}

/** How full the model's context is: a ring that closes. */
function ContextRing({ use }: { use: ChatChoices['contextUse']['value'] }): JSX.Element | null {
  if (!use) return null;
  const { tokens, window } = use;
  const share = Math.min(1, tokens / window);
  const text = say('page.composer.context', { used: number(tokens), window: number(window) });
  return (
    <span
      class={`context-ring${share >= NEARLY_FULL ? ' nearly-full' : ''}`}
      role="meter"
      aria-label={say('page.composer.context_use')}
      aria-valuemin={0}
      aria-valuemax={window}
      aria-valuenow={Math.min(tokens, window)}
      aria-valuetext={text}
      title={text}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <circle cx="12" cy="12" r="9" />
        <circle class="used" cx="12" cy="12" r="9" pathLength={100} stroke-dasharray={`${share * 100} 100`} />
      </svg>
    </span>
  );
}

function Attach({ tray }: { tray: FileTray }): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        id="attach"
        class="icon-button"
        type="button"
        aria-label={say('page.files.add')}
        title={say('page.files.add')}
        onClick={() => picker.current?.click()}
      >
        <Icon name="attach" />
      </button>
      <input
        ref={picker}
        id="file-picker"
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          void tray.add([...(currentTarget.files ?? [])]);
          // The same file can be chosen again.
          currentTarget.value = '';
        }}
      />
    </>
  );
}

/** One place for both: what is written is sent, and without it the running answer can be stopped. */
function SendOrStop({ composer }: { composer: Composer }): JSX.Element {
  const stops = composer.stops.value;
  return (
    <>
      <button
        id="stop"
        class="round stop"
        type="button"
        aria-label={say('page.composer.stop')}
        title={say('page.stop')}
        hidden={!stops}
        onClick={composer.host.stop}
      >
        <Icon name="stop" />
      </button>
      <button
        id="send"
        class="round primary"
        type="submit"
        aria-label={say('page.send')}
        title={say('page.send')}
        hidden={stops}
        disabled={!composer.maySend.value}
      >
        <Icon name="send" />
      </button>
    </>
  );
}

function Draft({ composer }: { composer: Composer }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const { menu } = composer;
  const text = composer.text.value;
  useLayoutEffect(() => {
    if (field.current === null) return;
    field.current.style.height = 'auto';
    field.current.style.height = `${Math.min(MAX_HEIGHT_PX, field.current.scrollHeight)}px`;
    menu.update(text);
  }, [text, composer]);
  const press = (event: KeyboardEvent): void => {
    if (!event.isComposing && menu.handleKey(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    // On a phone Enter starts a new line; while an input method composes, it selects a word.
    const touch = matchMedia('(pointer: coarse)').matches;
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || touch) return;
    event.preventDefault();
    composer.send();
  };
  return (
    <textarea
      ref={field}
      id="draft"
      rows={1}
      aria-label={say('page.composer.message')}
      placeholder={say('page.composer.hint')}
      enterkeyhint="send"
      aria-autocomplete="list"
      aria-controls="command-menu"
      aria-haspopup="listbox"
      aria-activedescendant={menu.active.value}
      disabled={!composer.isWritable}
      value={text}
      onInput={({ currentTarget }) => composer.write(currentTarget.value)}
      onKeyDown={press}
      onBlur={() => menu.close()}
    />
  );
}
