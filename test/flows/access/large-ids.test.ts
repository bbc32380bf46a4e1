/** Ids that a double cannot tell apart, or only just: they are exact from the network to the rows, the API and the command line. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { parley } from '../../child.ts';
import { pendingSoon } from '../approvals/pending.ts';
import { describeGateway, WAIT } from '../setup.ts';

/** "At most 52 significant bits" (Bot API, User and Chat), and the one before. */
const [LAST, LAST_BUT_ONE] = ['4503599627370495', '4503599627370494'];
const ran: string[] = [];

describeGateway('ids of 64 bits', { telegram: true, discord: true, tools: riskyTools(ran) }, (fixture) => {
  const grant = async (channel: string, id: string): Promise<void> => {
    const answer = await fixture().call('/v1/access/grants', { json: { channel, kind: 'dm', id } });
    expect([answer.status, await answer.json()]).toEqual([201, { channel, kind: 'dm', id }]);
  };
  const textOf = async (path: string): Promise<string> => await (await fixture().call(path)).text();
  const shows = (screen: () => string[], text: string | RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen().join('\n')).toMatch(text), WAIT);
  /** The conversation of a chat joins one of the page. */
  const link = async (code: string, page: string): Promise<void> => {
    await fixture().post(page, 'hello page');
    const entered = await fixture().call(`/v1/sessions/http:${page}/link`, { json: { code } });
    const { asks } = await entered.json();
    await fixture().call(`/v1/links/${asks.id}`, { json: { session: `http:${page}`, agree: true } });
  };
  const codeIn = (screen: string[]): string =>
    /link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(screen.join('\n'))?.[1] ?? '';

  it('of Discord: people whose ids are one apart are two people, on every road', async () => {
    const { discord, ollama, env } = fixture();
    const [mine, other] = [discord.dm('Ada'), discord.dm('Bob')];
    const [ada, bob] = [mine.person.id, other.person.id];
    expect([ada === bob, Number(ada) === Number(bob)]).toEqual([false, true]);
    await grant('discord', ada);
    const screen = (): string[] => discord.screen(mine.channel);
    ran.length = 0;
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'large' } }] }, { when: 'wipe it' });
    discord.says(mine.channel, 'wipe it', mine.person);
    discord.says(other.channel, 'let me in', other.person);
    await shows(() => discord.screen(other.channel), /pair approve/);
    await pendingSoon(fixture(), { session: `discord:${mine.channel.id}` });
    await shows(screen, /May I do this/);
    discord.press(mine.channel, 'Approve', other.person);
    await shows(
      () => discord.visible(mine.channel, other.person).map(({ content }) => content),
      /does not answer you here/,
    );
    expect(ran).toEqual([]);
    discord.press(mine.channel, 'Approve', mine.person);
    await shows(screen, /echo: wipe it/);
    expect(ran).toEqual(['wipe large']);

    const access = await (await fixture().call('/v1/access')).json();
    expect(access.grants.map(({ id }: { id: string }) => id)).toEqual([ada]);
    expect(access.pairings.map(({ senderId }: { senderId: string }) => senderId)).toEqual([bob]);
    expect(await textOf('/v1/sessions')).toContain(`"discord:${mine.channel.id}"`);
    const exported = await textOf(`/v1/sessions/discord:${mine.channel.id}/export?format=json`);
    expect(exported).toContain(`"discord:${mine.channel.id}"`);
    expect((await parley(['person', 'export', `discord:${ada}`], env)).stdout).toContain('wipe it');
    expect((await parley(['person', 'export', `discord:${bob}`], env)).stdout).not.toContain('wipe it');

    discord.says(mine.channel, '/link', mine.person);
    await shows(screen, /link [0-9A-Z]{5}-/);
    await link(codeIn(screen()), 'snow');
    discord.says(mine.channel, '/link yes', mine.person);
    await shows(screen, 'now shares this conversation');
    expect(await textOf('/v1/sessions/http:snow/surfaces')).toContain(`discord:${mine.channel.id}`);
  });

  it('of Telegram: the largest id and the one before it', async () => {
    const { telegram, ollama, env } = fixture();
    await grant('telegram', LAST);
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'last' } }] }, { when: 'wipe the last' });
    telegram.says(LAST, 'wipe the last', LAST);
    telegram.says(LAST_BUT_ONE, 'let me in', LAST_BUT_ONE);
    const screen = (): string[] => telegram.screen(LAST);
    await shows(() => telegram.screen(LAST_BUT_ONE), /pair approve/);
    await shows(screen, /May I do this/);
    telegram.press(LAST, 'Approve', LAST);
    await shows(screen, /echo: wipe the last/);
    expect(ran).toContain('wipe last');
    const access = await textOf('/v1/access');
    expect(access).toContain(`"id":"${LAST}"`);
    expect(access).toContain(`"senderId":"${LAST_BUT_ONE}"`);
    const exported = await textOf(`/v1/sessions/telegram:${LAST}/export?format=json`);
    expect(exported).toContain(`"telegram:${LAST}"`);
    expect((await parley(['person', 'export', `telegram:${LAST}`], env)).stdout).toContain('wipe the last');
    telegram.says(LAST, '/link', LAST);
    await shows(screen, /link [0-9A-Z]{5}-/);
    await link(codeIn(screen()), 'last');
    telegram.says(LAST, '/link yes', LAST);
    await shows(screen, 'now shares this conversation');
    expect(await textOf('/v1/sessions/http:last/surfaces')).toContain(`telegram:${LAST}`);
    const ended = await fixture().call(`/v1/access/grants/telegram/dm/${LAST}`, { method: 'DELETE' });
    expect(ended.status).toBe(200);
  });
});
