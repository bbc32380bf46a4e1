/** Forms on Slack: shown as a modal to whoever has pressed, and answered with what they filled in. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Form, Receipt } from '../../../src/protocol/receive.ts';
import { SlackSetup } from '../../fakes/slack/setup.ts';
import { submits } from '../../fakes/slack/views.ts';
import type { FakeChat, FakeMessage, FakePerson } from '../../fakes/slack/workspace.ts';

const WAIT = { timeout: 8_000, interval: 5 };
const LONG_TITLE = 'Why do you not want this to be done?';
const formOf = (value: string, maxLength = 4_000): Form => ({
  title: LONG_TITLE,
  value: 'deny:1',
  fields: [
    {
      name: 'reason',
      label: 'Reason',
      description: 'For the bot',
      value,
      maxLength,
      lines: 'many',
      required: false,
    },
  ],
});

describe('a form on Slack', () => {
  let setup: SlackSetup;
  let chat: FakeChat;
  let ada: FakePerson;
  let message: FakeMessage;
  let form: Form;
  beforeEach(async () => {
    setup = await SlackSetup.open();
    ({ chat, person: ada } = setup.slack.workspace.dm('Ada'));
    form = formOf('because');
    setup.verdict = ({ forms, fields }): Promise<Receipt> =>
      Promise.resolve(
        forms === true
          ? { kind: 'handled', reply: '', form }
          : {
              kind: 'handled',
              reply: fields === undefined ? 'Done without.' : `Denied: ${fields['reason']}`,
            },
      );
    await setup.start();
    const buttons = [{ label: 'Deny', value: 'deny:1' }];
    await setup.channel.send({ ...setup.part(chat.id, 'May I?'), buttons });
    message = setup.slack.visible(chat)[0]!;
  });
  afterEach(() => setup.close());

  const told = (text: string): Promise<void> =>
    vi.waitFor(() => expect(setup.slack.workspace.ephemerals.map((one) => one.text)).toEqual([text]), WAIT);

  it('is shown for a press, and what was filled in continues that press', async () => {
    const id = setup.slack.presses(chat, message, 'Deny', ada);
    await vi.waitFor(() => expect(setup.slack.answers.has(id)).toBe(true), WAIT);
    const shown = setup.slack.views.open.get(ada.id);
    expect(shown?.title.text).toBe(LONG_TITLE.slice(0, 24));
    expect(shown?.blocks[0]?.element).toMatchObject({ initial_value: 'because', max_length: 3_000 });
    const sent = submits(setup.slack, ada, { reason: 'not now' });
    await told('Denied: not now');
    expect(setup.slack.answers.get(sent)).toBeUndefined();
    expect(setup.received.at(-1)).toMatchObject({
      button: 'deny:1',
      fields: { reason: 'not now' },
      buttonUnder: { id: message.ts },
      chatId: chat.id,
      senderId: ada.id,
      place: 'private',
    });
  });

  it('with a field that was emptied is that field without words', async () => {
    setup.slack.presses(chat, message, 'Deny', ada);
    await vi.waitFor(() => expect(setup.slack.views.open.has(ada.id)).toBe(true), WAIT);
    submits(setup.slack, ada, { reason: '' });
    await told('Denied:');
  });

  it('that Slack does not hold, or does not show in time, is done without', async () => {
    form = formOf('x'.repeat(3_001));
    setup.slack.presses(chat, message, 'Deny', ada);
    await told('Done without.');
    setup.slack.workspace.ephemerals.length = 0;
    form = formOf('x'.repeat(3_000));
    setup.slack.failures.push({ match: /views\.open/, kind: 'refuse', code: 'expired_trigger_id' });
    setup.slack.presses(chat, message, 'Deny', ada);
    await told('Done without.');
    expect(setup.slack.views.open.size).toBe(0);
  });

  it('that comes too late asks for the press once more', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    const id = setup.slack.presses(chat, message, 'Deny', ada);
    await vi.waitFor(() => expect(setup.slack.answers.has(id)).toBe(true), WAIT);
    resolve({ kind: 'handled', reply: '', form });
    await told('It took too long to show you the form. Please press the button again.');
  });
});
