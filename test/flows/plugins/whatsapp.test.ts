/** WhatsApp, from what a person writes or presses to what their phone shows, through a whole gateway. */
import { afterAll, expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { choicesOf } from '../../fakes/whatsapp/shown.ts';
import { FakeWhatsApp, VERIFY_TOKEN, WHATSAPP_TOKEN } from '../../fakes/whatsapp/whatsapp.ts';
import { describeGateway, WAIT } from '../setup.ts';
import { killPlugin, withPlugin } from './added.ts';

const whatsapp = await FakeWhatsApp.open();
afterAll(() => whatsapp.close());
const people = Array.from({ length: 12 }, (_, index) => String(491701230001 + index));
const [ada = '', olga = '', eve = '', carl = '', kim = '', nora = ''] = people;
const furnish = withPlugin('whatsapp', {
  access: { whatsapp: { dm: 'pairing', allow: people.filter((id) => id !== eve) } },
});
const env = { ...whatsapp.settings, WHATSAPP_TEMPLATE: 'answer_ready:en_US' };
const ran: string[] = [];
const call = (name: string, args: object) => ({ toolCalls: [{ name, args }] });

describeGateway('WhatsApp', { env, furnish, tools: riskyTools(ran) }, (fixture) => {
  const open = (): void => {
    whatsapp.webhook = `${fixture().gateway.url}/v1/channels/whatsapp/webhook`;
  };

  it('confirms its webhook to Meta only with the word of the operator', async () => {
    open();
    const ask = (token: string) =>
      fetch(`${whatsapp.webhook}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`);
    const answer = await ask(VERIFY_TOKEN);
    expect([answer.status, await answer.text()]).toEqual([200, '1158201444']);
    expect((await ask('another')).status).toBe(401);
  });

  it('answers in the chat, marks the question as read, and shows that it is typing', async () => {
    open();
    const id = whatsapp.says(ada, 'hello');
    await vi.waitFor(() => expect(whatsapp.screen(ada)).toEqual(['echo: hello']), WAIT);
    await fixture().idle(`whatsapp:${ada}`);
    await vi.waitFor(() => expect(whatsapp.reads.map((read) => read.id)).toContain(id), WAIT);
    await vi.waitFor(() => expect(whatsapp.waiting).toBe(0), WAIT);
    const stored = await fixture().messages(`whatsapp:${ada}`);
    expect(stored.map(({ content }) => content)).toEqual(['hello', 'echo: hello']);
  });

  it('answers a post that comes twice once, and none that Meta has not signed', async () => {
    open();
    whatsapp.says(carl, 'only once');
    whatsapp.postAgain();
    whatsapp.postAgain();
    await vi.waitFor(() => expect(whatsapp.waiting).toBe(0), WAIT);
    await vi.waitFor(() => expect(whatsapp.screen(carl)).toEqual(['echo: only once']), WAIT);
    const forged = await fetch(whatsapp.webhook, {
      method: 'POST',
      headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'content-type': 'application/json' },
      body: '{"object":"whatsapp_business_account","entry":[]}',
    });
    expect(forged.status).toBe(401);
    await fixture().idle(`whatsapp:${carl}`);
    expect(whatsapp.screen(carl)).toEqual(['echo: only once']);
  });

  it('gives a stranger one code, and keeps their number out of the log', async () => {
    open();
    whatsapp.says(eve, 'let me in');
    await vi.waitFor(() => expect(whatsapp.screen(eve).join('')).toContain('pair approve'), WAIT);
    await fixture().store.access.addGrant('whatsapp', 'dm', eve);
    whatsapp.says(eve, 'and now?');
    await vi.waitFor(() => expect(whatsapp.screen(eve).at(-1)).toBe('echo: and now?'), WAIT);
    const lines = fixture().log.filter((line) => line.includes('"plugin":"whatsapp"'));
    expect(lines.filter((line) => people.some((id) => line.includes(id)))).toEqual([]);
    expect(fixture().log.join('\n')).not.toContain(WHATSAPP_TOKEN);
  });

  it('takes files, and sends them', async () => {
    open();
    const said = { when: 'what does it say' };
    fixture().ollama.answer(call('read_file', { path: 'inbox/report.txt' }), said);
    fixture().ollama.answer(call('write_file', { path: 'summary.txt', content: 'short' }), said);
    fixture().ollama.answer(call('send_file', { path: 'summary.txt', caption: 'The *short* version' }), said);
    fixture().ollama.answer({ text: 'There it is.' }, said);
    whatsapp.sends(kim, 'document', 'report.txt', Buffer.from('a long report'), {
      caption: 'what does it say',
      mime_type: 'text/plain',
    });
    await vi.waitFor(() => expect(whatsapp.screen(kim)).toContain('There it is.'), WAIT);
    const shown = whatsapp.visible(kim).find(({ file }) => file !== undefined);
    expect([shown?.file?.name, shown?.file?.bytes.toString()]).toEqual(['summary.txt', 'short']);
    expect(whatsapp.screen(kim)).toContain('The short version');
    const asked = await fixture().modelCall('what does it say');
    expect(JSON.stringify(asked.body)).toContain('report.txt');
  });

  it('asks before a dangerous call with buttons, and continues when one is pressed', async () => {
    open();
    fixture().ollama.answer(call('wipe', { word: 'clean up' }), { when: 'clean up' });
    whatsapp.says(olga, 'clean up');
    const question = await vi.waitFor(() => {
      const message = whatsapp.visible(olga).find(({ out }) => choicesOf(out).length > 0);
      if (message === undefined) throw new Error('nothing was asked');
      return message;
    }, WAIT);
    expect(ran).toEqual([]);
    const approve = choicesOf(question.out).find(({ title }) => title.startsWith('Approve'));
    whatsapp.presses(olga, question, approve?.title ?? '');
    await vi.waitFor(() => expect(whatsapp.screen(olga)).toContain('echo: clean up'), WAIT);
    expect(ran).toEqual(['wipe clean up']);
  });

  it('shows an answer once when its process is killed before WhatsApp has confirmed it', async () => {
    open();
    const held = Promise.withResolvers<void>();
    whatsapp.reports = true;
    whatsapp.says(nora, 'first');
    await vi.waitFor(() => expect(whatsapp.screen(nora)).toEqual(['echo: first']), WAIT);
    await fixture().idle(`whatsapp:${nora}`);
    await vi.waitFor(() => expect(whatsapp.waiting).toBe(0), WAIT);
    fixture().ollama.answer({ text: 'just once' }, { when: 'again' });
    whatsapp.says(nora, 'again');
    await fixture().modelCall('again');
    whatsapp.failures.push({ kind: 'late', until: held.promise, match: /\/messages .*just once/ });
    await vi.waitFor(() => expect(whatsapp.screen(nora)).toContain('just once'), WAIT);
    await killPlugin(fixture().home, 'whatsapp');
    held.resolve();
    await fixture().idle(`whatsapp:${nora}`);
    expect(whatsapp.screen(nora)).toEqual(['echo: first', 'just once']);
  });
});
