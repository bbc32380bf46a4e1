/** Messages that were started but not sent, by chat: they survive a reload, on this device only. */
import { StoredList } from '../../stored-list.js';

const MAX_DRAFTS = 50;
const MAX_DRAFT = 20_000;

/** Chats with their drafts. @type {StoredList<[string, string]>} */
const drafts = new StoredList('parley-drafts', MAX_DRAFTS);

/**
 * The draft of a chat; empty without one.
 * @param {string} key
 */
export function draftOf(key) {
  return new Map(drafts.read()).get(key) ?? '';
}

/**
 * Keeps the draft of a chat; an empty one is forgotten, and so are the oldest beyond 50 and what is longer than 20,000
 * characters.
 * @param {string} key
 * @param {string} text
 */
export function keepDraft(key, text) {
  const others = drafts.read().filter(([other]) => other !== key);
  drafts.write(text.trim() === '' ? others : [...others, [key, text.slice(0, MAX_DRAFT)]]);
}

/** Forgets all of them. */
export function forgetDrafts() {
  drafts.clear();
}
