/** Dialogs that are drawn once, and filled by what they are about. */
import type { JSX } from 'preact';
import { say } from '../texts.ts';

/** What waits for a decision in any chat; `Inbox` fills it. */
export function InboxDialog(): JSX.Element {
  return (
    <dialog id="inbox" class="inbox" aria-labelledby="inbox-title">
      <h2 id="inbox-title">{say('page.inbox')}</h2>
      <div id="inbox-list" class="inbox-list" />
      <div class="confirm-buttons">
        <button id="inbox-notify" type="button">
          {say('page.inbox.notify')}
        </button>
        <button id="close-inbox" type="button">
          {say('page.close')}
        </button>
      </div>
    </dialog>
  );
}

/** The chats that share the open conversation; `LinkedChats` fills it. */
export function LinkedDialog(): JSX.Element {
  return (
    <dialog id="linked" class="confirm linked" aria-labelledby="linked-title">
      <h2 id="linked-title">{say('page.linked')}</h2>
      <ul id="linked-list" class="linked-list" aria-label={say('page.linked.list')} />
      <div id="linked-asks" class="linked-asks" aria-live="polite" hidden />
      <div id="linked-own">
        <p class="quiet">
          {say('page.linked.how')
            .split('`')
            .map((part, nth) => (nth % 2 === 0 ? part : <code>{part}</code>))}
        </p>
        <p class="linked-form">
          <button id="give-code" type="button">
            {say('page.linked.give')}
          </button>
        </p>
        <p id="linked-given" class="linked-given" aria-live="polite" />
        <form id="linked-form" class="linked-form">
          <input
            id="linked-code"
            type="text"
            aria-label={say('page.linked.code')}
            placeholder={say('page.linked.code')}
            maxlength={100}
            autocomplete="off"
            spellcheck={false}
            required
          />
          <button type="submit" class="primary">
            {say('page.linked.enter')}
          </button>
        </form>
      </div>
      <p id="linked-note" role="status" />
      <div class="confirm-buttons">
        <button id="close-linked" type="button">
          {say('page.close')}
        </button>
      </div>
    </dialog>
  );
}
