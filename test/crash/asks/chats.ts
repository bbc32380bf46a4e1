/** The private chats of a run with questions: who is asked, who owns the bot, and who has subagents work in the background. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import type { Scenario } from '../scenario.ts';
import { friendOf, questionText } from '../script.ts';

/** Owners in whose private chats requests appear that nobody answers. */
export const OWNERS = ['7101', '7102'];
/** The person whose subagents work in the background. */
export const WORKER = '7103';
/** The session of that person in the names of questions. */
const WORKER_SESSION = 's90';
/** How often people look at their chats, in milliseconds. */
const LOOK_MS = 50;

/** How a person answers. */
export type Way = 'reply' | 'next' | 'refuse';
const WAYS: readonly Way[] = ['reply', 'next', 'refuse', 'reply'];

/** How the question is answered that a message of this name has asked. */
export function wayOf(id: string): Way {
  return WAYS[Number(id.split('#')[1]) % WAYS.length] ?? 'reply';
}

/** What a chat shows of the bot. */
export interface ShownCard {
  id: number;
  text: string;
  buttons: number;
  /** When the platform got it; `performance.now()`. */
  sentAt: number;
}

/** A message of the bot in a private chat. */
export function shownIn(telegram: FakeTelegram, chat: string): ShownCard[] {
  return telegram
    .messages(chat)
    .map(({ id, text, buttons, shownAt: [sentAt = 0] }) => ({ id, text, buttons: buttons.length, sentAt }));
}

/** The people behind these chats: each acts once on whatever has buttons, as soon as it is on screen. */
export class Chatters {
  readonly friends: readonly string[];
  /** Names of the questions that were answered, with the way. */
  readonly answered = new Map<string, Way>();
  /** Background subagents that were asked for. */
  cards = 0;
  readonly #telegram: FakeTelegram;
  readonly #closing = new AbortController();
  readonly #acted = new Set<string>();
  #working: Promise<void> | undefined;

  constructor({ telegram }: Scenario, sessions: readonly string[]) {
    this.#telegram = telegram;
    this.friends = sessions.map(friendOf);
  }

  /** Everybody writes once, because the bot writes only to people who did, and begins to look at their chat. */
  begin(): void {
    for (const chat of [...this.friends, ...OWNERS]) this.#telegram.says(chat, `hello of ${chat}`, chat);
    this.#working = this.#work();
  }

  /** Has another subagent work in the background. */
  askForCard(): void {
    this.#telegram.says(WORKER, questionText(WORKER_SESSION, this.cards, 'card'), WORKER);
    this.cards += 1;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      for (const chat of [...this.friends, ...OWNERS, WORKER]) this.#look(chat);
      await pause(LOOK_MS);
    }
  }

  #look(chat: string): void {
    for (const { id, text, buttons } of this.#telegram.messages(chat)) {
      const key = `${chat} ${id}`;
      if (buttons.length === 0 || this.#acted.has(key)) continue;
      this.#acted.add(key);
      const [, name] = /Asked for (s\d+#\d+)/.exec(text) ?? [];
      if (name !== undefined && this.friends.includes(chat)) this.#answer(chat, id, name);
      // An impatient owner presses twice.
      else if (OWNERS.includes(chat)) for (let nth = 0; nth < 2; nth += 1) this.#press(chat, id, 'Approve');
      else if (chat === WORKER && id % 3 === 0) this.#press(chat, id, 'Stop');
    }
  }

  /** A second copy of a question, or the note under an answer, is not answered again. */
  #answer(chat: string, id: number, name: string): void {
    if (this.answered.has(name)) return;
    const way = wayOf(name);
    this.answered.set(name, way);
    if (way === 'refuse') this.#press(chat, id, 'Refuse');
    else this.#telegram.says(chat, `Answer to ${name}.`, chat, way === 'reply' ? { replyTo: id } : {});
  }

  #press(chat: string, id: number, label: string): void {
    const message = this.#telegram.messages(chat).find((one) => one.id === id);
    const button = message?.buttons.find(({ text }) => text === label);
    if (button !== undefined) this.#telegram.presses(chat, chat, button.data, { id });
  }
}
