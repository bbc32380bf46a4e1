/** A channel set up while the gateway runs: from its token to the first message. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FAKE_TOKEN, FakeTelegram } from '../../../fakes/telegram/telegram.ts';
import { describePage } from '../../../channels/http/page/browser/describe-page.ts';
import { describeGateway, type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../setup.ts';
import { goToScreen } from './setup.ts';

const setUp = async (fixture: GatewayFixture, channel: string, variables: Record<string, string>) => {
  const answer = await fixture.call(`/v1/channels/${channel}`, { json: { variables } });
  return { status: answer.status, body: await answer.json() };
};
const channelOf = async (fixture: GatewayFixture, name: string) => {
  const { channels } = await (await fixture.call('/v1/channels')).json();
  return channels.find((channel: { name: string }) => channel.name === name);
};

/** A gateway that could reach Telegram and has no token for it. */
function openSwitchedOff(): { telegram: FakeTelegram; fixture: GatewayFixture } {
  const parts = {} as ReturnType<typeof openSwitchedOff>;
  beforeAll(async () => {
    parts.telegram = await FakeTelegram.start();
    parts.fixture = await openGatewayFixture({ env: { TELEGRAM_API_ROOT: parts.telegram.root } });
  });
  afterAll(async () => {
    await parts.fixture.close();
    await parts.telegram.close();
  });
  return parts;
}

describe('a channel that is off', () => {
  const parts = openSwitchedOff();

  it('refuses a token of another form, and one that the platform does not know, and saves neither', async () => {
    const { fixture } = parts;
    const malformed = await setUp(fixture, 'telegram', { TELEGRAM_BOT_TOKEN: 'abc' });
    expect([malformed.status, malformed.body.error.code]).toEqual([400, 'bad_config']);
    expect(malformed.body.error.problems).toMatchObject([
      { key: 'problem.at', values: { place: 'TELEGRAM_BOT_TOKEN' } },
    ]);
    const unknown = await setUp(fixture, 'telegram', { TELEGRAM_BOT_TOKEN: '999:nobody-has-this' });
    expect(unknown.body).toMatchObject({ kind: 'failed', findings: [{ level: 'error' }] });
    const foreign = await setUp(fixture, 'telegram', { DATABASE_URL: 'postgres://elsewhere' });
    expect(foreign.status).toBe(400);
    expect((await setUp(fixture, 'http', {})).status).toBe(404);
    await expect(readFile(path.join(fixture.home, '.env'), 'utf8')).rejects.toThrow('ENOENT');
    expect(await channelOf(fixture, 'telegram')).toMatchObject({ isOn: false, needsRestart: false });
  });

  it('starts at once with a token that the platform accepts, and keeps it for the next start', async () => {
    const { fixture, telegram } = parts;
    const started = await setUp(fixture, 'telegram', { TELEGRAM_BOT_TOKEN: FAKE_TOKEN });
    expect(started.body).toMatchObject({ kind: 'started', findings: [{ level: 'ok' }, {}] });
    expect(await readFile(path.join(fixture.home, '.env'), 'utf8')).toContain(
      `TELEGRAM_BOT_TOKEN=${FAKE_TOKEN}\n`,
    );
    expect(await channelOf(fixture, 'telegram')).toMatchObject({
      isOn: true,
      needsRestart: false,
      tokenPage: 'https://t.me/BotFather',
      variables: [{ name: 'TELEGRAM_BOT_TOKEN', isSecret: true, isSet: true, isFixed: false }],
    });
    telegram.says('9401', 'hello', '9401');
    await vi.waitFor(() => expect(telegram.screen('9401').join(' ')).toMatch(/\b[A-Z0-9]{8}\b/), WAIT);
    const { channels } = await (await fixture.call('/v1/health')).json();
    expect(channels.telegram).toMatchObject({ state: 'up' });
    expect((await setUp(fixture, 'telegram', {})).body).toMatchObject({ kind: 'checked' });
    expect(fixture.log.join('')).not.toContain(FAKE_TOKEN);
  });
});

describeGateway('a channel whose token is in the environment', { telegram: true }, (fixture) => {
  it('is checked, but its token is only changed where it is set', async () => {
    expect(await channelOf(fixture(), 'telegram')).toMatchObject({
      isOn: true,
      variables: [{ isFixed: true }],
    });
    const refused = await setUp(fixture(), 'telegram', { TELEGRAM_BOT_TOKEN: '999:another-token' });
    expect([refused.status, refused.body.error.code]).toEqual([400, 'bad_channel']);
    expect(refused.body.error.message).toContain('TELEGRAM_BOT_TOKEN: set in the environment');
    expect((await setUp(fixture(), 'telegram', {})).body).toMatchObject({ kind: 'checked' });
  });
});

describePage('a channel that is off', (tab) => {
  const parts = openSwitchedOff();

  it('asks for what it needs by its name, and is switched on', async () => {
    const page = await tab.open(parts.fixture.gateway.url, { token: OWNER });
    await page.locator('#transcript').waitFor();
    await goToScreen(page, 'channels');
    await page.locator('.settings-row', { hasText: 'Telegram' }).getByText('Not set up').waitFor();
    expect(await page.locator('.settings-body').innerText()).not.toContain('TOKEN');
    await tab.screenshot('channels');
    await page.getByRole('link', { name: 'Set up: Telegram' }).click();
    await page.getByLabel('Bot token').waitFor();
    await page.locator('.settings-field').getByText('TELEGRAM_BOT_TOKEN').waitFor();
    await tab.screenshot('channel-off');
    await page.getByLabel('Bot token').fill(FAKE_TOKEN);
    await page.getByRole('button', { name: 'Check and switch on' }).click();
    await page.getByText('Saved, and the channel is starting').waitFor();
    await tab.screenshot('channel-on');
  });
});
