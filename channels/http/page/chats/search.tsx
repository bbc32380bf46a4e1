/** The search over chats: by words of titles and messages, as the user types. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, type FoundSession } from '../api.ts';
import { showError } from '../failures/show-error.ts';
import { plainText } from '../markdown/plain-text.ts';
import { openChat } from '../navigation.ts';
import { Time } from '../parts/time.tsx';
import { say } from '../texts.ts';
import { channelOf, nameOf } from './chat-names.ts';

const WAIT_MS = 200;
const MAX_FOUND = 30;

/** What is searched for, and what was found. */
export class ChatSearch {
  readonly text = signal('');
  readonly answer = signal<{ text: string; found: FoundSession[]; more: boolean } | undefined>(undefined);
  /** Number of the newest search: the answer to an older one may arrive later. */
  #searches = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Searches once the user pauses; an empty text ends the search at once. */
  search(text: string): void {
    this.text.value = text;
    clearTimeout(this.#timer);
    const nth = (this.#searches += 1);
    if (text.trim() === '') this.answer.value = undefined;
    else this.#timer = setTimeout(() => void this.#ask(text.trim(), nth), WAIT_MS);
  }

  async #ask(text: string, nth: number): Promise<void> {
    try {
      const answer = await api.search(text, MAX_FOUND);
      if (nth === this.#searches) this.answer.value = { text, ...answer };
    } catch (error) {
      showError(error);
    }
  }
}

/** The field above the list. */
export function SearchField({ search }: { search: ChatSearch }): JSX.Element {
  return (
    <input
      id="search"
      class="search"
      type="search"
      aria-label={say('page.search.field')}
      placeholder={say('page.search.field')}
      autocomplete="off"
      value={search.text}
      onInput={({ currentTarget }) => search.search(currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || search.text.value === '') return;
        event.stopPropagation();
        search.search('');
      }}
    />
  );
}

/** What was found, which replaces the list. */
export function SearchResults({ search }: { search: ChatSearch }): JSX.Element {
  const answer = search.answer.value;
  return (
    <section
      id="search-results"
      class="sessions"
      aria-label={say('page.search.results')}
      hidden={search.text.value.trim() === ''}
    >
      {answer && (
        <>
          <p class="quiet" role="status">
            {summaryOf(answer.found.length, answer.more)}
          </p>
          {answer.found.map((found) => (
            <Found key={found.key} found={found} words={answer.text} />
          ))}
        </>
      )}
    </section>
  );
}

function Found({
  found: { key, title, match, updatedAt },
  words,
}: {
  found: FoundSession;
  words: string;
}): JSX.Element {
  return (
    <button type="button" class="session found" onClick={() => openChat(key, { seq: match?.seq })}>
      <span class="session-title" dir="auto">
        <Marked text={nameOf({ key, title, preview: '' })} words={words} />
      </span>
      {match && (
        <span class="snippet" dir="auto">
          <Marked text={plainText(match.snippet)} words={words} />
        </span>
      )}
      <span class="session-meta">
        {!key.startsWith('http:') && `${channelOf(key)} · `}
        <Time at={match?.createdAt ?? updatedAt} />
      </span>
    </button>
  );
}

/** A text in which each of these words is marked, also as the beginning of a longer one. */
function Marked({ text, words }: { text: string; words: string }): JSX.Element {
  const patterns = words.split(/\s+/).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const parts = text.split(new RegExp(`(${patterns.join('|')})`, 'giu'));
  return <>{parts.map((part, nth) => (nth % 2 === 0 ? part : <mark>{part}</mark>))}</>;
}

function summaryOf(count: number, more: boolean): string {
  if (count === 0) return say('page.search.nothing');
  return say(more ? 'page.search.more' : 'page.search.found', { count });
}
