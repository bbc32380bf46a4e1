/**
 * In Telegram groups, what is useful to only one person is shown only to them; values to enter elsewhere have a copy
 * button.
 */
import { expect, it, vi } from 'vitest';
import { saysHidden } from '../../fakes/telegram/hidden.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const [ADMIN, MEMBER, MENU] = ['-1009001', '-1009002', '-1009003'];
const groups = Object.fromEntries([ADMIN, MEMBER, MENU].map((id) => [id, { mention: true }]));
const file = { access: { telegram: { allow: FRIENDS, groups } } };
const STRANGER = '4242';

describeGateway('messages in groups for one person', { telegram: true, file }, (fixture) => {
  const someone = (): string => people.next().value ?? '';
  const seen = (group: string, person: string): string[] => fixture().telegram.hidden.seenBy(group, person);
  const says = (chat: string, text: string, from: string): void =>
    void fixture().telegram.says(chat, text, from);

  it('hide the reply to /status if the bot is an administrator', async () => {
    const { telegram } = fixture();
    telegram.chats.open(ADMIN).botIsAdmin = true;
    const person = someone();
    says(ADMIN, `/status@${FAKE_BOT.username}`, person);
    await vi.waitFor(() => expect(seen(ADMIN, person)).toHaveLength(1), WAIT);
    expect(seen(ADMIN, person)[0]).toContain('fake:latest');
    expect(telegram.screen(ADMIN)).toEqual([]);
    expect(seen(ADMIN, '1')).toEqual([]);
  });

  it('hide refusals, but not messages that concern the group', async () => {
    const { telegram } = fixture();
    const person = someone();
    telegram.chats.open(ADMIN).botIsAdmin = true;
    says(ADMIN, `@${FAKE_BOT.username} ${'x'.repeat(3)}`, person);
    says(ADMIN, `/new@${FAKE_BOT.username}`, person);
    await vi.waitFor(() => expect(telegram.screen(ADMIN).join('\n')).toContain('new conversation'), WAIT);
    for (let n = 0; n < 6; n += 1) says(ADMIN, `/status@${FAKE_BOT.username}`, person);
    await vi.waitFor(() => expect(seen(ADMIN, person).join('\n')).toContain('too fast'), WAIT);
    expect(telegram.screen(ADMIN).join('\n')).not.toContain('too fast');
  });

  it('are shown to all if Telegram hides none, which is then not tried again', async () => {
    const { telegram } = fixture();
    const person = someone();
    const asked = () => fixture().log.filter((line) => line.includes('telegram_message_not_hidden')).length;
    const before = asked();
    for (const times of [1, 2]) {
      says(MEMBER, `/status@${FAKE_BOT.username}`, person);
      await vi.waitFor(() => expect(telegram.screen(MEMBER)).toHaveLength(times), WAIT);
    }
    expect(seen(MEMBER, person)).toEqual([]);
    expect(asked() - before).toBe(1);
  });

  it('answer a hidden command hidden, even if the bot is not an administrator', async () => {
    const { telegram } = fixture();
    const person = someone();
    saysHidden(telegram, MENU, '/status', person);
    await vi.waitFor(() => expect(seen(MENU, person)).toHaveLength(1), WAIT);
    expect(telegram.screen(MENU)).toEqual([]);
    expect(telegram.introduction.commandsOf('all_group_chats')).toContainEqual(
      expect.objectContaining({ command: 'status', is_ephemeral: true }),
    );
    expect(telegram.introduction.commandsOf('all_group_chats')).not.toContainEqual(
      expect.objectContaining({ command: 'new', is_ephemeral: true }),
    );
  });
});

describeGateway('values to enter elsewhere', { telegram: true, file }, (fixture) => {
  const copied = async (chat: string): Promise<string> =>
    await vi.waitFor(() => {
      const copy = fixture().telegram.messages(chat).at(-1)?.buttons[0]?.copy;
      if (copy === undefined) throw new Error('no button that copies');
      return copy;
    }, WAIT);

  it('have a copy button: a pairing code for the operator of the gateway, a code that links chats', async () => {
    const { telegram } = fixture();
    telegram.says(STRANGER, 'hello', STRANGER);
    expect(await copied(STRANGER)).toMatch(/^npx parley pair approve \S+$/);
    expect(telegram.screen(STRANGER)[0]).toContain(await copied(STRANGER));
    const person = people.next().value ?? '';
    telegram.says(person, '/link', person);
    expect(await copied(person)).toMatch(/^\/link [0-9A-Z]{5}-[0-9A-Z]{5}$/);
  });
});
