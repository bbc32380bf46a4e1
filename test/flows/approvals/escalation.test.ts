/** Requests that no one decides: owners are asked in their own chats after a while, once each, and the first answer counts everywhere. */
import { expect, it, vi } from 'vitest';
import { MAX_ALSO_ASKED } from '../../../src/protocol/agent/approvals.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const GROUP = '-4712';
const [FIRST = '', SECOND = '', MEMBER = ''] = FRIENDS;
const ran: string[] = [];
const SETTINGS = {
  telegram: true,
  discord: true,
  tools: riskyTools(ran),
  file: {
    access: {
      telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
      owners: { telegram: [FIRST, SECOND] },
    },
  },
};
/** Longer than the pause between two looks at what waits. */
const LONG = { ...WAIT, timeout: 40_000 };

describeGateway('a request that no one decides', SETTINGS, (fixture) => {
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const seen = (chat: string, text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toMatch(text), LONG);
  const says = (chat: string, text: string, from = chat): number => fixture().telegram.says(chat, text, from);
  const questions = (chat: string, word: string): string[] =>
    fixture()
      .telegram.screen(chat)
      .filter((text) => text.includes('wipe') && text.includes(word));
  /** Lets the request about this word be so many minutes older. */
  const grows = (word: string, minutes: number) => fixture().sql`
    update approval set created_at = created_at - make_interval(mins => ${minutes})
    where detail #>> '{args,word}' = ${word}`;
  const askedInGroup = async (word: string): Promise<void> => {
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word } }] }, { when: `wipe ${word}` });
    says(GROUP, `wipe ${word}`, MEMBER);
    await seen(GROUP, new RegExp(word));
  };

  it('in a group reaches the owners one after another, once, also over a restart; one answer ends it everywhere', async () => {
    for (const chat of [FIRST, SECOND]) {
      says(chat, `hello ${chat}`);
      await seen(chat, `echo: hello ${chat}`);
    }
    const { channel, person } = fixture().discord.dm('Olga');
    await fixture().store.access.addGrant('discord', 'owner', person.id);
    fixture().discord.says(channel, 'hello from afar', person);
    const onDiscord = (): string => fixture().discord.screen(channel).join('\n');
    await vi.waitFor(() => expect(onDiscord()).toContain('echo: hello from afar'), WAIT);
    await askedInGroup('disk-a');
    expect(questions(FIRST, 'disk-a')).toEqual([]);
    await grows('disk-a', 6);
    await seen(FIRST, /disk-a/);
    expect(questions(FIRST, 'disk-a')[0]).toContain(`The group Group ${GROUP} waits for this:`);
    expect(questions(GROUP, 'disk-a')[0]).not.toContain('waits for this');
    expect(questions(SECOND, 'disk-a')).toEqual([]);
    says(FIRST, '/status');
    await seen(FIRST, `decision on wipe for Person ${MEMBER} in Telegram (group chat "Group ${GROUP}")`);
    says(SECOND, '/status');
    await seen(SECOND, 'nothing is waiting');
    expect(screen(SECOND)).not.toContain('decision on');
    const listed = await (await fixture().call('/v1/approvals')).json();
    expect(listed).toMatchObject({ approvals: [{ chatName: `Group ${GROUP}` }] });
    await fixture().restart();
    await grows('disk-a', 5);
    await seen(SECOND, /disk-a/);
    await grows('disk-a', 20);
    await vi.waitFor(() => expect(onDiscord()).toContain('disk-a'), LONG);
    expect(questions(FIRST, 'disk-a')).toHaveLength(1);
    expect(questions(SECOND, 'disk-a')).toHaveLength(1);
    const [row] = await fixture().sql<{ asked: string[] }[]>`
      select detail -> 'alsoAsked' as asked from approval where detail #>> '{args,word}' = 'disk-a'`;
    expect(row?.asked).toHaveLength(MAX_ALSO_ASKED);
    fixture().discord.press(channel, 'Approve', person);
    await vi.waitFor(() => expect(ran).toContain('wipe disk-a'), WAIT);
    for (const chat of [FIRST, SECOND, GROUP]) await seen(chat, /Approved by Olga on Discord/);
    await vi.waitFor(() => expect(onDiscord()).toContain('Approved by Olga.'), WAIT);
    says(SECOND, '/approve');
    await seen(SECOND, /There is no pending request here/);
    expect(ran.filter((run) => run === 'wipe disk-a')).toHaveLength(1);
  }, 150_000);

  it('can be denied with a reason where an owner was asked later, by a command and by a reply', async () => {
    await askedInGroup('disk-b');
    await grows('disk-b', 6);
    await seen(FIRST, /disk-b/);
    const question = fixture()
      .telegram.messages(FIRST)
      .findLast(({ text }) => text.includes('disk-b'));
    fixture().telegram.says(FIRST, 'not on a Sunday', FIRST, { replyTo: question?.id });
    await seen(GROUP, /Denied by Person \d+: not on a Sunday/);
    await askedInGroup('disk-c');
    await grows('disk-c', 6);
    await seen(FIRST, /disk-c/);
    says(FIRST, '/deny too early');
    await seen(GROUP, /Denied by Person \d+: too early/);
    expect(ran).not.toContain('wipe disk-b');
    expect(ran).not.toContain('wipe disk-c');
  }, 120_000);

  it('in the private chat of a person stays with that person', async () => {
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'disk-d' } }] }, { when: 'mine' });
    says(MEMBER, 'mine');
    await seen(MEMBER, /disk-d/);
    await grows('disk-d', 30);
    await askedInGroup('disk-e');
    await grows('disk-e', 6);
    // The look that finds this one has passed over the other.
    await seen(FIRST, /disk-e/);
    for (const chat of [FIRST, SECOND, GROUP]) expect(questions(chat, 'disk-d')).toEqual([]);
    says(MEMBER, '/deny');
    says(FIRST, '/deny');
    await seen(GROUP, /Denied by Person/);
  }, 90_000);
});
