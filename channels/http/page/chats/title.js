/** The title of the browser's tab: the open chat, and how many questions wait for a decision. */
let name = '';
let waitingCount = 0;

/** @param {string} chat the name of the open chat; empty for a new one */
export function showChatInTitle(chat) {
  name = chat;
  draw();
}

/** @param {number} count */
export function showWaitingInTitle(count) {
  waitingCount = count;
  draw();
}

function draw() {
  const badge = waitingCount === 0 ? '' : `(${waitingCount}) `;
  document.title = `${badge}${name === '' ? 'Parley' : `${name} · Parley`}`;
}
