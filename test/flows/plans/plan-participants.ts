/** Chats of both platforms, as users of a plan see them. */
import { vi } from 'vitest';
import { FRIENDS, type GatewayFixture, WAIT } from '../setup.ts';
import type { Participant } from './plan-chat.ts';

/** A private chat with one of the friends whom the configuration lets in. */
export function telegramParticipant(
  fixture: GatewayFixture,
  person = FRIENDS[0] ?? '',
  chat = person,
): Participant {
  const { telegram } = fixture;
  return {
    session: `telegram:${chat}`,
    says: (text) => void telegram.says(chat, text, person),
    seen: () =>
      telegram
        .messages(chat)
        .map(({ text, buttons }) => ({ text, buttons: buttons.map((button) => button.text) })),
    press: (label) => answerOn(fixture, telegram.press(chat, label, person)),
  };
}

/** What the user who pressed a Telegram button reads. */
export async function answerOn({ telegram }: GatewayFixture, press: string): Promise<string> {
  return await vi.waitFor(() => {
    const text = telegram.pressed.answers.get(press);
    if (text === undefined) throw new Error('the press is not answered yet');
    return text;
  }, WAIT);
}

/** A private chat with a user whom the owner has let in. */
export async function discordParticipant(fixture: GatewayFixture): Promise<Participant> {
  const { discord, store } = fixture;
  const { channel, person } = discord.dm();
  await store.access.addGrant('discord', 'dm', person.id);
  return {
    session: `discord:${channel.id}`,
    says: (text) => discord.says(channel, text, person),
    seen() {
      const texts = discord.screen(channel);
      return discord
        .visible(channel)
        .map(({ author, buttons }, index) => ({ author, buttons, text: texts[index] ?? '' }))
        .filter(({ author }) => author.bot === true)
        .map(({ text, buttons }) => ({ text, buttons: buttons.map(({ label }) => label) }));
    },
    async press(label) {
      const hidden = (): string[] => {
        const open = new Set(discord.visible(channel).map(({ id }) => id));
        const all = discord.screen(channel, person);
        return all.filter((_, index) => !open.has(discord.visible(channel, person)[index]?.id ?? ''));
      };
      const before = hidden().length;
      const pressed = discord.press(channel, label, person);
      return await vi.waitFor(() => {
        const { modal } = [...discord.platform.interactions.values()].find(({ id }) => id === pressed) ?? {};
        if (modal !== undefined) return modal.fields.map(({ value }) => value).join('\n');
        const text = hidden()[before];
        if (text === undefined || text.endsWith('is thinking...'))
          throw new Error('the press is not answered yet');
        return text;
      }, WAIT);
    },
  };
}
