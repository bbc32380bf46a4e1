/** The part of the channel contract about commands: users can type what a text names. */
import { describe, expect, it, vi } from 'vitest';
import { channels } from '../../channels/index.ts';
import { type ReceivingPart, WAIT } from './channel-harness.ts';

/** Runs the part over the harness of each test. */
export function commandContract(name: string, { harness, receive, received }: ReceivingPart): void {
  describe('commands', () => {
    it('are understood the way the manifest says users write them', async () => {
      const manifest = channels.find((one) => one.name === name) ?? harness();
      const writeCommand = manifest.writeCommand ?? (() => '');
      await harness().channel.start(receive);
      const [chat] = harness().chats;
      harness().types(chat, writeCommand('stop', {}));
      harness().types(chat, `${writeCommand('queue', {})} steer`);
      const contents = (): string[] => received().map(({ content }) => content);
      await vi.waitFor(() => expect(contents()).toEqual(['/stop', '/queue steer']), WAIT);
    });
  });
}
