/** A channel of a Discord server in which Ada writes slash commands. */
import { expect, vi } from 'vitest';
import type { SentMessage } from '../../../src/protocol/message.ts';
import type { FakeChannel, FakePerson } from './platform.ts';
import { DiscordSetup } from './setup.ts';

export const WAIT = { timeout: 5_000, interval: 5 };
/** What a deferred reply shows. */
export const THINKING = 'Parley is thinking...';

export interface SlashRoom {
  setup: DiscordSetup;
  room: FakeChannel;
  ada: FakePerson;
  /** How far the channel's clock is ahead, in milliseconds. */
  clock: { aheadMs: number };
  /** Waits until the room shows these texts, to everyone or to one viewer. */
  shows(texts: string[], viewer?: FakePerson): Promise<void>;
  /** Ada uses `/ask`; gives the deferred reply. */
  ask(prompt: string): Promise<SentMessage>;
  /** Edits a message as the gateway does; gives what is known of it afterwards. */
  edit(sent: SentMessage, text: string): Promise<SentMessage>;
}

export async function openSlashRoom(): Promise<SlashRoom> {
  const clock = { aheadMs: 0 };
  const setup = await DiscordSetup.open({ now: () => Date.now() + clock.aheadMs });
  const room = setup.discord.platform.addChannel(0);
  const ada = setup.discord.person('Ada');
  return {
    setup,
    room,
    ada,
    clock,
    async shows(texts, viewer) {
      await vi.waitFor(() => expect(setup.discord.screen(room, viewer)).toEqual(texts), WAIT);
    },
    async ask(prompt) {
      const before = setup.received.length;
      setup.discord.slash(room, '/ask', { prompt }, ada);
      await vi.waitFor(() => expect(setup.received.length).toBe(before + 1), WAIT);
      const placeholder = setup.received[before]?.placeholder;
      if (placeholder === undefined) throw new Error('a command must bring its deferred reply');
      return placeholder;
    },
    edit: async (sent, text) => (await setup.channel.edit?.(sent, setup.part(room.id, text))) ?? sent,
  };
}
