/** A dangerous tool through a whole gateway: asked about in the chat, decided on any channel, run once. */
import { beforeAll, expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { sendCopy } from '../surfaces/questions.ts';
import { describeGateway, FRIENDS, type GatewayFixture, OWNER, WAIT } from '../setup.ts';
import { type Pending, pendingNow, pendingSoon } from './pending.ts';

const people = FRIENDS.toReversed().values();
const ran: string[] = [];
const GROUP = '-1009001';
const BOSS = '6001';
const file = {
  access: {
    telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
    owners: { telegram: [BOSS] },
  },
};

describeGateway('approvals', { telegram: true, discord: true, file, tools: riskyTools(ran) }, (fixture) => {
  beforeAll(() => void ran.splice(0));

  /** The model answers `said` with a call of `wipe`, then with text. */
  const dangerous = (said: string): void => {
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: said } }] }, { when: said });
  };
  const runsOf = (said: string): number => ran.filter((run) => run === `wipe ${said}`).length;
  const waiting = (session: string, token?: string): Promise<Pending | undefined> =>
    pendingNow(fixture(), { session }, token);
  const asked = (session: string): Promise<Pending> => pendingSoon(fixture(), { session });
  const decide = (id: string, decision: string, token = OWNER): Promise<Response> =>
    fixture().call(`/v1/approvals/${id}`, { json: { decision }, token });
  const shows = (chat: string, text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toMatch(text), WAIT);
  const buttons = (chat: string): string[] =>
    fixture()
      .telegram.messages(chat)
      .flatMap((message) => message.buttons.map(({ text }) => text));
  const pressed = async (chat: string, label: string, from: string): Promise<string> => {
    const press = fixture().telegram.press(chat, label, from);
    return await answerTo(fixture(), press);
  };
  /** A friend's chat in which `said` was said, and the question is on screen with its buttons. */
  async function askOnTelegram(said: string): Promise<string> {
    const chat = people.next().value ?? '';
    dangerous(said);
    fixture().telegram.says(chat, said, chat);
    await shows(chat, /May I do this/);
    return chat;
  }

  it('asks with buttons, runs once when they are pressed, and names who pressed (S-37, B-20)', async () => {
    const chat = await askOnTelegram('wipe it all');
    expect(buttons(chat)).toEqual(['Approve', 'Deny', 'Always allow this exact call here']);
    await shows(chat, /"word": "wipe it all"[\s\S]*It wipes a disk\./);
    const press = fixture().telegram.press(chat, 'Approve', chat);
    fixture().telegram.presses(chat, chat, 'approve:nobody-knows-this-one');
    expect(await answerTo(fixture(), press)).toBe('Approved.');
    await shows(chat, /echo: wipe it all/);
    await shows(chat, new RegExp(`Approved by Person ${chat}`));
    expect(buttons(chat)).toEqual([]);
    expect(runsOf('wipe it all')).toBe(1);
  });

  it('removes the buttons of both questions when the send of the first one got no answer', async () => {
    const { telegram } = fixture();
    telegram.failure({ kind: 'drop', method: 'sendMessage' });
    const chat = await askOnTelegram('wipe it twice');
    await vi.waitFor(() => expect(buttons(chat)).toHaveLength(6), WAIT);
    const [first] = telegram.messages(chat);
    const { id } = await asked(`telegram:${chat}`);
    const press = telegram.presses(chat, chat, `approve:${id}`, first);
    expect(await answerTo(fixture(), press)).toBe('Approved.');
    await shows(chat, /echo: wipe it twice/);
    await vi.waitFor(() => expect(buttons(chat)).toEqual([]), WAIT);
    expect(telegram.messages(chat).map((message) => message.id)).not.toContain(first?.id);
    await shows(chat, new RegExp(`Approved by Person ${chat}`));
    expect(runsOf('wipe it twice')).toBe(1);
  });

  it('is asked before, and decided after, a restart: on another channel, and only once', async () => {
    const chat = await askOnTelegram('wipe after lunch');
    const { id } = await asked(`telegram:${chat}`);
    await fixture().restart();
    const first = await decide(id, 'approved');
    expect([first.status, await first.json()]).toEqual([200, { id, decision: 'approved' }]);
    const second = await decide(id, 'denied');
    expect(second.status).toBe(409);
    await shows(chat, /echo: wipe after lunch/);
    expect(runsOf('wipe after lunch')).toBe(1);
    const late = fixture().telegram.presses(chat, chat, `approve:${id}`);
    expect(await answerTo(fixture(), late)).toContain('already');
    expect(runsOf('wipe after lunch')).toBe(1);
  });

  it('answers a press by the wrong person, from another chat, or with other data, and changes nothing', async () => {
    const said = 'wipe the group';
    dangerous(said);
    fixture().telegram.says(GROUP, said, FRIENDS[0] ?? '');
    await shows(GROUP, /May I do this/);
    const { id } = await asked(`telegram:${GROUP}`);
    expect(await pressed(GROUP, 'Approve', FRIENDS[0] ?? '')).toContain('Only an owner');
    expect(await pressed(GROUP, 'Approve', FRIENDS[1] ?? '')).toContain('Only an owner');
    const elsewhere = fixture().telegram.presses(BOSS, BOSS, `approve:${id}`);
    expect(await answerTo(fixture(), elsewhere)).toContain('another chat');
    const edited = fixture().telegram.presses(GROUP, BOSS, `approve:${id}x`);
    expect(await answerTo(fixture(), edited)).toContain('no longer exists');
    const odd = fixture().telegram.presses(GROUP, BOSS, 'approve everything');
    expect(await answerTo(fixture(), odd)).toContain('unknown');
    const stranger = fixture().telegram.presses('555', '555', `approve:${id}`);
    expect(await answerTo(fixture(), stranger)).not.toContain('Approved');
    expect(await waiting(`telegram:${GROUP}`)).toBeDefined();
    expect(await pressed(GROUP, 'Deny', BOSS)).toContain('Denied');
    await shows(GROUP, new RegExp(`Denied by Person ${BOSS}`));
    expect(runsOf(said)).toBe(0);
  });

  it('keeps a group talking while one person’s request waits: others are answered, /status names it, its own order stays (P26)', async () => {
    const { telegram, ollama } = fixture();
    const [ann = '', ben = ''] = FRIENDS;
    dangerous('wipe for the room');
    telegram.says(GROUP, 'wipe for the room', ann);
    await shows(GROUP, /"word": "wipe for the room"/);
    telegram.says(GROUP, 'what is the time, says Ben', ben);
    await shows(GROUP, /echo: [\s\S]*what is the time, says Ben/);
    const heard = JSON.stringify(ollama.calls.at(-1)?.body);
    expect(heard).not.toContain('wipe for the room');
    telegram.says(GROUP, 'and then, says Ann', ann);
    await shows(GROUP, /an owner can use its buttons[\s\S]*within 10 minutes/);
    telegram.says(GROUP, '/status', ben);
    await shows(GROUP, new RegExp(`Waiting for a decision on .*wipe.* for Person ${ann}, 10 min left`));
    expect(telegram.screen(GROUP).join('\n')).not.toContain('says Ann');
    expect(await pressed(GROUP, 'Approve', BOSS)).toBe('Approved.');
    await shows(GROUP, /echo: [\s\S]*wipe for the room/);
    await shows(GROUP, /echo: [\s\S]*and then, says Ann/);
    expect(runsOf('wipe for the room')).toBe(1);
  });

  it('is denied by a reply to the message that a killed process has sent once more', async () => {
    const chat = await askOnTelegram('wipe this twice');
    const { id } = await asked(`telegram:${chat}`);
    await expect.poll(() => fixture().store.ledger.sentParts(`approval:${id}`), WAIT).not.toEqual([]);
    const request = fixture()
      .telegram.messages(chat)
      .findLast(({ text }) => text.includes('wipe this twice'));
    const replyTo = await sendCopy(fixture(), chat, request?.id ?? 0);
    fixture().telegram.says(chat, 'neither of them', chat, { replyTo });
    await shows(chat, /Denied by Person \d+: neither of them/);
    expect(runsOf('wipe this twice')).toBe(0);
  });

  it('accepts /approve and /deny where it was asked, and from owners anywhere', async () => {
    const chat = await askOnTelegram('wipe by word');
    fixture().telegram.says(chat, '/deny', chat);
    await shows(chat, /Denied: it will not run/);
    await shows(chat, /echo: wipe by word/);
    const other = await askOnTelegram('wipe by the boss');
    const { id } = await asked(`telegram:${other}`);
    const outsider = people.next().value ?? '';
    fixture().telegram.says(outsider, `/approve ${id}`, outsider);
    await shows(outsider, /Only an owner/);
    fixture().telegram.says(outsider, '/approve', outsider);
    await shows(outsider, /no pending request/);
    fixture().telegram.says(BOSS, `/approve ${id}`, BOSS);
    await shows(BOSS, /Approved\./);
    await shows(other, /echo: wipe by the boss/);
    expect([runsOf('wipe by word'), runsOf('wipe by the boss')]).toEqual([0, 1]);
  });

  it('lets a token with "approve" decide in its own sessions, and see no others', async () => {
    const token = 'a-friend-of-the-owner-1';
    const friend = await fixture().store.access.putToken({
      hash: hashSecret(token),
      name: 'friend',
      scopes: ['chat', 'approve'],
    });
    expect(friend.scopes).toEqual(['chat', 'approve']);
    dangerous('wipe over http');
    const chat = await askOnTelegram('wipe for another');
    const foreign = await asked(`telegram:${chat}`);
    await fixture().call('/v1/sessions/http:mine/messages', { json: { content: 'wipe over http' }, token });
    const { id, tool, args, warning } = await asked('http:mine');
    expect({ tool, args, warning }).toEqual({
      tool: 'wipe',
      args: { word: 'wipe over http' },
      warning: 'It wipes a disk.',
    });
    expect(await waiting(`telegram:${chat}`, token)).toBeUndefined();
    expect((await decide(foreign.id, 'approved', token)).status).toBe(404);
    expect((await decide(id, 'maybe', token)).status).toBe(400);
    expect((await decide(id, 'approved', token)).status).toBe(200);
    await vi.waitFor(() => expect(runsOf('wipe over http')).toBe(1), WAIT);
    await decide(foreign.id, 'denied');
    await shows(chat, /Denied by GATEWAY_TOKEN/);
    expect(runsOf('wipe for another')).toBe(0);
  });

  it('explains once to a user who writes in the meantime what it is waiting for; /stop denies and ends it', async () => {
    const chat = await askOnTelegram('wipe and wait');
    for (const more of ['and then?', 'hello?']) fixture().telegram.says(chat, more, chat);
    await shows(chat, /first I need a decision on wipe/);
    fixture().telegram.says(chat, '/stop', chat);
    await shows(chat, /Stopped\. 2 queued messages were dropped/);
    await shows(chat, /Not run: stopped/);
    await fixture().idle(`telegram:${chat}`);
    const told = fixture()
      .telegram.screen(chat)
      .filter((text) => text.includes('first I need a decision'));
    expect(told).toHaveLength(1);
    expect(buttons(chat)).toEqual([]);
    expect(runsOf('wipe and wait')).toBe(0);
  });

  it('asks on Discord with components, and shows the answer to a press only to the user who pressed', async () => {
    const { discord, store } = fixture();
    const { channel, person } = discord.dm('Grace');
    await store.access.addGrant('discord', 'dm', person.id);
    dangerous('wipe on discord');
    discord.says(channel, 'wipe on discord', person);
    await vi.waitFor(() => expect(discord.screen(channel).join()).toContain('May I do this'), WAIT);
    const stranger = discord.person('Mallory');
    discord.press(channel, 'Approve', stranger);
    discord.press(channel, 'Approve', person);
    await vi.waitFor(() => expect(discord.screen(channel, person)).toContain('Approved.'), WAIT);
    expect(discord.screen(channel)).not.toContain('Approved.');
    await vi.waitFor(() => expect(discord.screen(channel).join()).toContain('Approved by Grace'), WAIT);
    const card = discord.screen(channel).findIndex((text) => text.includes('Approved by Grace'));
    expect(discord.visible(channel)[card]?.buttons).toEqual([]);
    await vi.waitFor(() => expect(discord.screen(channel)).toContain('echo: wipe on discord'), WAIT);
    expect(runsOf('wipe on discord')).toBe(1);
  });
});

/** What the user who pressed reads. */
function answerTo({ telegram }: GatewayFixture, press: string): Promise<string> {
  return vi.waitFor(() => {
    const text = telegram.pressed.answers.get(press);
    if (text === undefined) throw new Error('the press is not answered yet');
    return text;
  }, WAIT);
}
