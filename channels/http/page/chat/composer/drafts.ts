/** Messages that were started but not sent, by chat: they survive a reload, on this device only. */
import { StoredList } from '../../stored-list.ts';

const MAX_DRAFTS = 50;
const MAX_DRAFT = 20_000;

/** Chats with their drafts. */
const drafts = new StoredList<[string, string]>('parley-drafts', MAX_DRAFTS);

/** The draft of a chat; empty without one. */
export function draftOf(key: string) {
  return new Map(drafts.read()).get(key) ?? '';
}

/**
 * Keeps the draft of a chat; an empty one is forgotten, and so are the oldest beyond 50 and what is longer than 20,000
 * characters.
 */
export function keepDraft(key: string, text: string) {
  const others = drafts.read().filter(([other]) => other !== key);
  drafts.write(text.trim() === '' ? others : [...others, [key, text.slice(0, MAX_DRAFT)]]);
}

/** Forgets all of them. */
export function forgetDrafts() {
  drafts.clear();
}
