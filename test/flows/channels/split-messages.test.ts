/** What a person's app sends in pieces is one message: one turn, and one of the messages that the sender is allowed. */
import { expect, it, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';

const [writer = ''] = FRIENDS;
const file = {
  access: { telegram: { dm: 'allowlist', allow: FRIENDS } },
  limits: { messagesPerMinute: 1, messagesAtOnce: 2 },
};

describeGateway('messages in pieces', { telegram: true, file }, (fixture) => {
  it('count once: ten forwarded messages and a text in three parts are two turns, and only a third message is too many', async () => {
    const { telegram } = fixture();
    const shown = (): string => telegram.screen(writer).join('\n');
    const fields = { forward_origin: { type: 'hidden_user', sender_user_name: 'Ada', date: 1 } };
    for (let n = 1; n <= 10; n += 1) telegram.says(writer, `note ${n}`, writer, { fields });
    const { body } = await fixture().modelCall('note 10');
    const asked = body.messages.findLast(({ role }) => role === 'user')?.content ?? '';
    expect(asked).toContain('text of others, from Ada; the user has forwarded it');
    for (let n = 1; n <= 10; n += 1) expect(asked).toContain(`note ${n}`);
    await fixture().idle(`telegram:${writer}`);
    for (const part of ['a'.repeat(4_096), 'b'.repeat(3_000), 'and the end'])
      telegram.says(writer, part, writer);
    const { body: second } = await fixture().modelCall('and the end');
    expect(lastUserText(second)).toBe(`${'a'.repeat(4_096)}${'b'.repeat(3_000)}\nand the end`);
    await fixture().idle(`telegram:${writer}`);
    expect(shown()).not.toContain('too fast');
    telegram.says(writer, 'one more', writer);
    await vi.waitFor(() => expect(shown()).toContain('You are sending messages too fast'), WAIT);
  });
});
