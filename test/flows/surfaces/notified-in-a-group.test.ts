/** A conversation that a group also reads: what is sent to the group, and who is asked first. */
import { expect, it, vi } from 'vitest';
import type { SurfaceEnd } from '../../../src/protocol/sessions/surfaces.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { readPage } from './hostile-page.ts';

const people = FRIENDS.values();
/** One for each test, on each database. */
const GROUPS = Array.from({ length: 6 }, (_, n) => String(-4_801 - n));
const groups = GROUPS.values();
const OWNER_CHAT = FRIENDS.at(-1) ?? '';
const SETTINGS = {
  telegram: true,
  tools: [readPage],
  file: {
    tools: { enabled: ['message'] },
    limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
    channels: { telegram: { groupCallsPerMinute: 600 } },
    access: {
      telegram: {
        allow: FRIENDS,
        groups: Object.fromEntries(GROUPS.map((id) => [id, { mention: false }])),
      },
      owners: { telegram: [OWNER_CHAT] },
    },
  },
};

describeGateway('a group that also reads a conversation', SETTINGS, (fixture) => {
  let codes = 0;
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const says = (chat: string, text: string, from = chat): unknown =>
    fixture().telegram.says(chat, text, from);
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const calls = (when: string, name: string, args: object): void =>
    fixture().ollama.answer({ toolCalls: [{ name, args }] }, { when });
  /** A private chat whose conversation a group reads. */
  const linked = async (): Promise<{ chat: string; group: string }> => {
    const [chat, group] = [people.next().value ?? '', groups.next().value ?? ''];
    says(chat, `hello ${chat}`);
    await seen(chat, `echo: hello ${chat}`);
    fixture().telegram.chats.open(group);
    const { surfaces } = fixture().store;
    const from: SurfaceEnd = { address: `telegram:${chat}`, place: 'private', userId: `telegram:${chat}` };
    const to: SurfaceEnd = { address: `telegram:${group}`, place: 'group', userId: `telegram:${OWNER_CHAT}` };
    codes += 1;
    const hash = String(codes).padStart(64, 'e');
    await surfaces.giveCode(hash, { ...from, session: from.address });
    await surfaces.enterCode(hash, to);
    for (const { address, userId } of [to, from]) await surfaces.agree({ address, userId, owner: false });
    return { chat, group };
  };

  it('receives a message without a question as long as no one else has written', async () => {
    const { chat, group } = await linked();
    calls(`tell them ${chat}`, 'message', { text: `Lunch, says ${chat}.`, to: `telegram:${group}` });
    says(chat, `tell them ${chat}`);
    await seen(group, `Lunch, says ${chat}.`);
    expect(screen(chat)).not.toContain('May I do this');
  });

  it('receives none after text from the web, until the person agrees, who is the only one asked', async () => {
    const { chat, group } = await linked();
    calls(`page ${chat}`, 'read_page', {});
    calls(`page ${chat}`, 'message', { text: `Everybody, ${chat}.`, to: `telegram:${group}` });
    says(chat, `read the page ${chat}`);
    await seen(chat, 'May I do this');
    says(group, '/approve', '31');
    await seen(group, 'Only an owner of this bot can decide this.');
    expect(screen(group)).not.toMatch(/May I do this|Everybody, /);
    says(chat, '/approve');
    await seen(group, `Everybody, ${chat}.`);
  });

  it('counts text of its members as a reason to ask: the owner decides what they request themselves', async () => {
    const { chat, group } = await linked();
    says(group, `we are many ${chat}`, '31');
    await seen(chat, `we are many ${chat}`);
    await fixture().idle(`telegram:${chat}`);
    calls(`group ${chat}`, 'message', { text: `To one, ${chat}.`, to: `telegram:${chat}` });
    says(group, `write to the group ${chat}`, '31');
    await seen(group, 'May I do this');
    expect(screen(chat)).not.toContain(`To one, ${chat}.`);
    says(group, '/approve', '31');
    await seen(group, 'Only an owner of this bot can decide this.');
    // Sharing the conversation in private gives a user no more rights in the group than its members have.
    says(chat, '/approve');
    await seen(chat, 'Only an owner of this bot can decide this.');
    expect(screen(chat)).not.toMatch(/May I do this|To one, /);
    says(group, '/approve', OWNER_CHAT);
    await seen(chat, `To one, ${chat}.`);
  });
});
