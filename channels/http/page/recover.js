/**
 * What a page gets in place of a script of another version of the gateway, as happens during an upgrade: it reloads the
 * page, which then has the version that answers.
 */

const RELOADS_KEY = 'parley-reloads';
/** Two versions behind one address may answer in turns: the page is reloaded at most this often within the time. */
const MAX_RELOADS = 6;
const WITHIN_MS = 60_000;
/** Each wait is this much longer than the one before. */
const WAIT_MS = 200;

/** @type {number[]} */
const reloads = JSON.parse(sessionStorage.getItem(RELOADS_KEY) ?? '[]');
const recent = reloads.filter((at) => Date.now() - at < WITHIN_MS);
if (recent.length < MAX_RELOADS) {
  sessionStorage.setItem(RELOADS_KEY, JSON.stringify([...recent, Date.now()]));
  setTimeout(() => location.reload(), recent.length * WAIT_MS);
} else {
  const note = document.createElement('p');
  note.className = 'plain-note';
  note.setAttribute('role', 'alert');
  // The texts of the page may be missing, too.
  note.textContent = document.body.dataset['upgrading'] ?? '';
  document.body.prepend(note);
}
// The importing script waits until the page is gone.
export default await new Promise(() => undefined);
