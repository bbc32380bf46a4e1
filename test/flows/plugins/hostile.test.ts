/** A plug-in that does everything wrong in a running gateway: its own messages wait, and all other chats go on. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { Plugins } from '../../../src/plugins/index.ts';
import { writeWhole } from '../../../src/settings/index.ts';
import { folderTools } from '../../../src/plugin-setup.ts';
import { writePlugin } from '../../plugins/harness.ts';
import { describeGateway, FRIENDS, OWNER, WAIT } from '../setup.ts';

const [FRIEND = ''] = FRIENDS;
const SECRET = 'the-secret-of-the-nasty-0123456789';
const PERSON = 'u1';

/** What it does wrong is the text of the message that it is to send. */
const MAIN = `
export function channel(host) {
  const wrongs = {
    abort: () => process.abort(),
    loop: () => { for (;;); },
    allocate: () => { const all = []; for (;;) all.push(Buffer.alloc(10 << 20, 1), 'x'.repeat(1e6) + all.length); },
    flood: () => { for (let i = 0; i < 20000; i += 1) host.log('info', 'noise', { secret: host.settings.NASTY_SECRET, i }); },
    tell: () => { throw new Error('the secret is ' + host.settings.NASTY_SECRET); },
    reach: () => fetch('https://example.org/'),
  };
  let count = 0;
  return {
    async start() { host.health('up'); },
    async stop() {},
    async send(part) {
      const [, wrong] = /do (\\w+)/.exec(part.body.text) ?? [];
      if (wrong && !(await host.store.get('did ' + part.nonce))) {
        await host.store.set('did ' + part.nonce, '1');
        await wrongs[wrong]();
      }
      count += 1;
      host.log('info', 'shown', { text: part.body.text });
      return { id: 'm' + count };
    },
    async webhook({ body }) {
      const { text, id } = JSON.parse(Buffer.from(body).toString('utf8') || '{}');
      if (!text) return { status: 401 };
      await host.receive({ id, chatId: 'u1', senderId: 'u1', content: text, timestamp: Date.now(), place: 'private', mentioned: true });
      return { status: 204 };
    },
  };
}`;
const MANIFEST = {
  name: 'nasty',
  label: 'Nasty',
  settings: [{ name: 'NASTY_SECRET', description: 'a secret', secret: true, required: true }],
  rights: { memory: 64 },
  tools: undefined,
  channel: {
    needs: 'NASTY_SECRET',
    ids: { user: '^u[0-9]+$', chat: '^u[0-9]+$', description: 'an id such as u1', privateChat: '^u' },
    capabilities: { maxLength: 1_000 },
    rates: { callsPerSecond: 50, editIntervalMs: 100 },
    render: { kind: 'plain' },
    webhook: true,
  },
};

const access = {
  telegram: { allow: [FRIEND] },
  nasty: { allow: [PERSON] },
  owners: { telegram: [FRIEND] },
};

async function furnish(home: string): Promise<void> {
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ access }), { mode: 0o600 });
  const folder = await writePlugin(MANIFEST, MAIN, () => undefined);
  const plugins = new Plugins(home, writeWhole, folderTools);
  await plugins.store(await plugins.read(folder), folder);
}

describeGateway(
  'a plug-in that does everything wrong',
  { telegram: true, furnish, env: { NASTY_SECRET: SECRET } },
  (fixture) => {
    const post = async (id: string, text: string): Promise<number> => {
      const url = `${fixture().gateway.url}/v1/channels/nasty/webhook`;
      return (await fetch(url, { method: 'POST', body: JSON.stringify({ id, text }) })).status;
    };
    const shown = (): string =>
      fixture()
        .log.filter((line) => line.includes('"shown"'))
        .join('');

    it.each(['abort', 'loop', 'allocate', 'flood', 'tell', 'reach'])(
      'harms no other chat when it is to %s, and sends its own message in the end',
      async (wrong) => {
        const answer = `Now do ${wrong}.`;
        fixture().ollama.answer({ text: answer }, { when: `please ${wrong}` });
        fixture().ollama.answer({ text: `fine beside ${wrong}` }, { when: `meanwhile ${wrong}` });
        await vi.waitFor(async () => expect(await post(wrong, `please ${wrong}`)).toBe(204), WAIT);
        fixture().telegram.says(FRIEND, `meanwhile ${wrong}`, FRIEND);
        await vi.waitFor(
          () => expect(fixture().telegram.screen(FRIEND).at(-1)).toBe(`fine beside ${wrong}`),
          WAIT,
        );
        await vi.waitFor(() => expect(shown()).toContain(answer), { timeout: 90_000, interval: 100 });
        expect(fixture().log.join('')).not.toContain(SECRET);
      },
      120_000,
    );

    it('reports how it is to operators, and to nobody the reason', async () => {
      const health = await fixture().call('/v1/health', { token: OWNER });
      expect(await health.json()).toMatchObject({
        plugins: { nasty: { version: '1.0.0' } },
        channels: { nasty: { label: 'Nasty' } },
      });
      fixture().telegram.says(FRIEND, '/status', FRIEND);
      await vi.waitFor(
        () => expect(fixture().telegram.screen(FRIEND).at(-1)).toMatch(/Plug-in Nasty 1\.0\.0: \w+/),
        WAIT,
      );
    });

    it('is not started once its files have changed', async () => {
      await writeFile(path.join(fixture().home, 'plugins/nasty/main.js'), '// other code', { flag: 'a' });
      await fixture().restart();
      expect(await post('after', 'hello')).toBe(503);
      const health = await (await fixture().call('/v1/health', { token: OWNER })).json();
      expect(health).toMatchObject({
        plugins: { nasty: { state: 'refused' } },
        channels: { nasty: { state: 'dead' } },
      });
      fixture().ollama.answer({ text: 'all is well here' }, { when: 'still there' });
      fixture().telegram.says(FRIEND, 'still there?', FRIEND);
      await vi.waitFor(() => expect(fixture().telegram.screen(FRIEND).at(-1)).toBe('all is well here'), WAIT);
    });
  },
);
