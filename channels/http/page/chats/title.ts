/** The title of the browser's tab: the open chat, and how many questions wait for a decision. */
let name = '';
let waitingCount = 0;

/** @param chat the name of the open chat; empty for a new one */
export function showChatInTitle(chat: string) {
  name = chat;
  draw();
}

export function showWaitingInTitle(count: number) {
  waitingCount = count;
  draw();
}

function draw() {
  const badge = waitingCount === 0 ? '' : `(${waitingCount}) `;
  document.title = `${badge}${name === '' ? 'Parley' : `${name} · Parley`}`;
}
