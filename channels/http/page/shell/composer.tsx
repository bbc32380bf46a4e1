/** The message field with what changes the next message, and above it what waits. */
import type { JSX } from 'preact';
import { Icon } from '../parts/icon.tsx';
import { say } from '../texts.ts';

/** Drawn once: `MessageField` and its parts fill it. */
export function Composer(): JSX.Element {
  return (
    <>
      <section id="queue" class="queue" aria-label={say('page.queue')} hidden>
        <label class="queue-mode">
          {say('page.queue.mode')} <select id="queue-mode" />
        </label>
        <ol id="queue-list" class="queue-list" />
      </section>
      <form id="composer" class="composer">
        <div
          id="command-menu"
          class="command-menu"
          role="listbox"
          tabIndex={-1}
          aria-label={say('page.commands')}
          hidden
        />
        <ul id="file-tray" class="file-tray" aria-label={say('page.files.tray')} hidden />
        <p id="file-note" class="error-text" role="status" />
        <p id="composer-refusal" class="error-text" role="alert" />
        <div class="composer-box">
          <button
            id="attach"
            class="icon-button"
            type="button"
            aria-label={say('page.files.add')}
            title={say('page.files.add')}
          >
            <Icon name="attach" />
          </button>
          <input id="file-picker" type="file" multiple hidden />
          <textarea
            id="draft"
            rows={1}
            aria-label={say('page.composer.message')}
            placeholder={say('page.composer.hint')}
            enterkeyhint="send"
            aria-autocomplete="list"
            aria-controls="command-menu"
            aria-haspopup="listbox"
            disabled
          />
          <button
            id="stop"
            class="round stop"
            type="button"
            aria-label={say('page.composer.stop')}
            title={say('page.stop')}
            hidden
          >
            <Icon name="stop" />
          </button>
          <button
            id="send"
            class="round primary"
            type="submit"
            aria-label={say('page.send')}
            title={say('page.send')}
            disabled
          >
            <Icon name="send" />
          </button>
        </div>
        <p id="composer-note" class="composer-note quiet" />
      </form>
    </>
  );
}
