/** Messages that were started but not sent, by chat: they survive a reload, on this device only. */
const STORED_AS = 'parley-drafts';
const MAX_DRAFTS = 50;
const MAX_DRAFT = 20_000;

/**
 * The draft of a chat; empty without one.
 * @param {string} key
 */
export function draftOf(key) {
  return new Map(read()).get(key) ?? '';
}

/**
 * Keeps the draft of a chat; an empty one is forgotten, and so are the oldest beyond 50 and what is longer than 20,000
 * characters.
 * @param {string} key
 * @param {string} text
 */
export function keepDraft(key, text) {
  const others = read().filter(([other]) => other !== key);
  const all = text.trim() === '' ? others : [...others, [key, text.slice(0, MAX_DRAFT)]];
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(all.slice(-MAX_DRAFTS)));
  } catch {
    // The storage is full or switched off: the draft lives as long as the page.
  }
}

/** Forgets all of them. */
export function forgetDrafts() {
  localStorage.removeItem(STORED_AS);
}

/** @returns {[string, string][]} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(STORED_AS) ?? '[]');
  } catch {
    return [];
  }
}
