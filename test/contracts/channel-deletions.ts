/** The part of the channel contract about messages that people delete. */
import { expect, it, vi } from 'vitest';
import type { Receipt } from '../../src/protocol/receive.ts';
import { ACCEPTED, type ReceivingPart, WAIT } from './channel-harness.ts';

/** Runs the part over the harness of each test. */
export function deletionContract(name: string, { harness, receive, received }: ReceivingPart): void {
  const reported = (): string[] =>
    (harness().deleted?.() ?? []).flatMap(({ channel, chatId, messageIds }) =>
      messageIds.map((id) => `${channel} ${chatId} ${id}`),
    );

  it('reports the deletion of a message under the id of that message, after it is committed', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    await harness().channel.start(async (message) => {
      await receive(message);
      return await promise;
    });
    const [chat, other] = harness().chats;
    harness().says(chat, 'forget this');
    await vi.waitFor(() => expect(received()).toHaveLength(1), WAIT);
    harness().deletes?.(chat);
    for (let i = 0; i < 25; i += 1) await new Promise((next) => setImmediate(next));
    expect(reported()).toEqual([]);
    resolve(ACCEPTED);
    await vi.waitFor(() => expect(reported()).toHaveLength(1), WAIT);
    expect(reported()).toEqual([`${name} ${chat.chatId} ${received()[0]?.messageId}`]);
    harness().says(other, 'goes on');
    await vi.waitFor(
      () => expect(received().map(({ content }) => content)).toEqual(['forget this', 'goes on']),
      WAIT,
    );
  });
}
