/** What the page shows, as its address names it: a chat or a screen of the settings; and the list of chats over it, on a phone. */
import { signal } from '@preact/signals';

/** A chat, which cannot have messages yet if it is `fresh`, at the message `seq`; or a screen of the settings, by its address. */
export type Route = { key: string; fresh?: boolean; seq?: number | undefined } | { settings: string };

/** Undefined until the page is signed in. */
export const route = signal<Route | undefined>(undefined);
/** The list of chats is shown over the chat, on a phone. */
export const sidebarOpen = signal(false);

/** The entry of the history that stands for the list of chats over the chat, on a phone. */
const DRAWER = 'list';

/** Shows a chat. Another one than before is a step of the history, which the browser's Back takes back. */
export function openChat(key: string, options: { fresh?: boolean; seq?: number | undefined } = {}): void {
  const address = `#${key}`;
  const isStep = location.hash !== '' && location.hash !== address && history.state !== DRAWER;
  history[isStep ? 'pushState' : 'replaceState'](null, '', address);
  sidebarOpen.value = false;
  route.value = { key, ...options };
}

export function openNewChat(): void {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  const id = Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('');
  openChat(`http:chat-${id}`, { fresh: true });
}

/** Shows what the address names, such as `#http:chat-…` or `#settings/tokens`; without that, a new chat. */
export function openAddressed(): void {
  sidebarOpen.value = history.state === DRAWER;
  const screen = /^#settings(?:\/([\w./-]+))?$/.exec(location.hash);
  const key = decodeURIComponent(location.hash.slice(1));
  const current = route.peek();
  if (screen !== null) route.value = { settings: screen[1] ?? '' };
  else if (!/^[a-z][a-z0-9]*:./.test(key)) openNewChat();
  else if (current === undefined || !('key' in current) || current.key !== key) route.value = { key };
}

/** Shows the list of chats over the chat, as a step of the history, or takes that step back. */
export function showSidebar(open: boolean): void {
  if (open === sidebarOpen.peek()) return;
  if (open) {
    history.pushState(DRAWER, '');
    sidebarOpen.value = true;
    setTimeout(() => document.getElementById('close-sidebar')?.focus());
  } else if (history.state === DRAWER) history.back();
  else sidebarOpen.value = false;
}
