/** Telegram posts updates to the gateway instead of being polled: nothing is lost, nothing arrives twice. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rawRequest } from '../../channels/http/raw-http.ts';
import { describeGateway, FRIENDS, type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../setup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';

const SECRET = 'a-secret-of-the-webhook-0123456789';
const ROUTE = '/v1/updates/telegram';
const access = { telegram: { dm: 'allowlist', allow: FRIENDS } };
const http = { allowedHosts: ['bot.example.org'], trustedProxies: ['127.0.0.1'] };
const webhook = { url: 'https://bot.example.org' };
const file = { access, channels: { http, telegram: { webhook } } };
const withoutWebhook = { access, channels: { http } };
const env = { TELEGRAM_WEBHOOK_SECRET: SECRET };

/** From now on Telegram reaches the gateway through its proxy. */
function reach(on: GatewayFixture): void {
  on.telegram.webhook.gateway = () => on.gateway.url;
}

/** A post that anyone could make. */
async function posted(
  on: GatewayFixture,
  update: unknown,
  secret: string | undefined = SECRET,
): Promise<Response> {
  const header: Record<string, string> = secret === '' ? {} : { 'x-telegram-bot-api-secret-token': secret };
  return await fetch(on.gateway.url + ROUTE, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...header },
    body: JSON.stringify(update),
  });
}

/** A person's message, as Telegram would post it. */
function says(id: number, person: string, text: string) {
  const who = { id: Number(person), is_bot: false, first_name: 'Ada' };
  const message = {
    message_id: id,
    date: 1_790_000_000,
    chat: { id: Number(person), type: 'private' },
    from: who,
    text,
  };
  return { update_id: id, message };
}

describeGateway('a webhook of Telegram', { telegram: true, file, env }, (fixture) => {
  beforeAll(() => reach(fixture()));

  it('is set at the start with its secret, and posted updates are answered', async () => {
    const { telegram } = fixture();
    const [person = ''] = FRIENDS;
    expect(telegram.last.get('setWebhook')).toMatchObject({
      url: 'https://bot.example.org/v1/updates/telegram',
      secret_token: SECRET,
      drop_pending_updates: false,
    });
    telegram.says(person, 'hello by post', person);
    await vi.waitFor(() => expect(telegram.screen(person)).toHaveLength(1), WAIT);
    expect(telegram.count('getUpdates')).toBe(0);
  });

  it('accepts nothing without its secret, and does not wait for the body', async () => {
    const [, person = ''] = FRIENDS;
    const update = says(1, person, 'forged');
    expect((await posted(fixture(), update, 'a-secret-of-the-webhook-0123456780')).status).toBe(401);
    expect((await posted(fixture(), update, '')).status).toBe(401);
    const host = `Host: ${new URL(fixture().gateway.url).host}`;
    const lines = [
      `POST ${ROUTE} HTTP/1.1`,
      host,
      'Content-Type: application/json',
      'Content-Length: 52428800',
    ];
    expect((await rawRequest(fixture().gateway.url, lines)).status).toBe(401);
    const genuine = [...lines, `X-Telegram-Bot-Api-Secret-Token: ${SECRET}`];
    expect((await rawRequest(fixture().gateway.url, genuine)).status).toBe(413);
    expect((await fixture().call('/v1/updates/discord', { method: 'POST', json: update })).status).toBe(401);
    expect(JSON.stringify(fixture().ollama.calls.map(({ body }) => body))).not.toContain('forged');
  });

  it('accepts an update once, however often it is posted', async () => {
    const [, , person = ''] = FRIENDS;
    fixture().telegram.chats.open(person);
    const update = says(50, person, 'say it once');
    for (let n = 0; n < 3; n += 1) expect((await posted(fixture(), update)).status).toBe(200);
    await vi.waitFor(() => expect(fixture().telegram.screen(person)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${person}`);
    // Even after it was received.
    expect((await posted(fixture(), update)).status).toBe(200);
    const asked = fixture().ollama.calls.filter(({ body }) => JSON.stringify(body).includes('say it once'));
    expect(asked).toHaveLength(1);
  });

  it('refuses anything that is not an update', async () => {
    const answer = await posted(fixture(), { message: 'no id' });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'invalid_update' } }]);
  });

  it('joins the parts of a message that are posted one by one', async () => {
    const [, , , person = ''] = FRIENDS;
    for (const part of ['a'.repeat(4_096), 'b'.repeat(3_000), 'and the end'])
      fixture().telegram.says(person, part, person);
    const { body } = await fixture().modelCall('and the end');
    expect(lastUserText(body)).toBe(`${'a'.repeat(4_096)}${'b'.repeat(3_000)}\nand the end`);
  });

  it('passes /stop to the running turn', async () => {
    const [, , , , person = ''] = FRIENDS;
    const { telegram, ollama } = fixture();
    ollama.answer({ text: 'never', hold: true }, { when: 'hold this' });
    telegram.says(person, 'hold this', person);
    const call = await fixture().modelCall('hold this');
    telegram.says(person, '/stop', person);
    expect((await call.closed).by).toBe('client');
  });

  it('shows operators what Telegram reports about failing posts', async () => {
    const { telegram } = fixture();
    telegram.webhook.gateway = () => 'http://127.0.0.1:1';
    const [, , , , , person = ''] = FRIENDS;
    telegram.says(person, 'who is there?', person);
    await vi.waitFor(
      () => expect(telegram.webhook.info()['last_error_message']).toBe('Connection refused'),
      WAIT,
    );
    await fixture().restart();
    await vi.waitFor(async () => {
      const { channels } = await fixture().gateway.health();
      expect(channels['telegram']).toMatchObject({ state: 'degraded', waiting: 1 });
      expect(channels['telegram']?.detail).toContain(
        '"Connection refused". It keeps trying; waiting updates: 1',
      );
    }, WAIT);
    for (const path of ['/v1/health', '/readyz']) {
      const answer = await fixture().call(path, { token: OWNER, headers: { 'accept-language': 'de' } });
      const { channels }: { channels: Record<string, { detail?: string }> } = await answer.json();
      expect(channels['telegram']?.detail).toContain('„Connection refused“. Es hält 1 zurück');
      expect(channels['slack']?.detail).toContain('braucht SLACK_BOT_TOKEN');
    }
    reach(fixture());
    await vi.waitFor(() => expect(telegram.screen(person)).toHaveLength(1), WAIT);
  });

  it('yields to polling and returns, and nothing said in the meantime is lost', async () => {
    const on = fixture();
    const [, , , , , , person = ''] = FRIENDS;
    const say = (text: string) => on.telegram.says(person, text, person);
    const settings = (content: unknown) =>
      writeFile(path.join(on.home, 'config.json'), JSON.stringify(content));
    const heard = async (text: string) => {
      await on.modelCall(text);
      await on.idle(`telegram:${person}`);
    };
    say('by post');
    await heard('by post');
    await on.restart(async () => {
      await settings(withoutWebhook);
      say('while it was down');
    });
    await heard('while it was down');
    say('asked for');
    await heard('asked for');
    expect(on.telegram.updates.webhook).toBe('');
    await on.restart(async () => {
      await settings(file);
      say('down again');
    });
    reach(on);
    await heard('down again');
    expect(on.telegram.screen(person)).toHaveLength(4);
    expect(on.telegram.updates.unconfirmed).toBe(0);
    expect(await on.sql`select id from platform_update where body is not null`).toEqual([]);
    expect(on.log.filter((line) => line.includes('StoreError'))).toEqual([]);
  });
});

describe('a webhook of Telegram at two nodes', () => {
  let a: GatewayFixture;
  let b: GatewayFixture;
  beforeAll(async () => {
    // The secret is derived from the token: both nodes know it.
    a = await openGatewayFixture({ telegram: true, file });
    b = await openGatewayFixture({ telegram: true, file, beside: a });
  });
  afterAll(async () => {
    await b.close();
    await a.close();
  });

  it('accepts updates at the node that does not poll', async () => {
    b.telegram.webhook.gateway = () => b.gateway.url;
    for (const person of FRIENDS.slice(0, 3)) b.telegram.says(person, `here is ${person}`, person);
    for (const person of FRIENDS.slice(0, 3))
      await vi.waitFor(() => expect(a.telegram.screen(person)).toHaveLength(1), WAIT);
    expect(a.telegram.webhook.secret).toMatch(/^[\w-]{43}$/);
    expect(await a.dump()).not.toContain(a.telegram.webhook.secret);
  });
});
