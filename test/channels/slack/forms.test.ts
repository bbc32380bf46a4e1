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

  it('is shown for a press, and its content is handled as part of that press', async () => {
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

  it('with an emptied field has no text in that field', async () => {
    setup.slack.presses(chat, message, 'Deny', ada);
    await vi.waitFor(() => expect(setup.slack.views.open.has(ada.id)).toBe(true), WAIT);
    submits(setup.slack, ada, { reason: '' });
    await told('Denied:');
  });

  it('that Slack cannot show, or does not show in time, is skipped', async () => {
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

  it('with something wrong stays open with what was entered, and says what at the field', async () => {
    const wait = (check: () => void): Promise<void> => vi.waitFor(check, WAIT);
    setup.slack.presses(chat, message, 'Deny', ada);
    await wait(() => expect(setup.slack.views.open.has(ada.id)).toBe(true));
    const { verdict } = setup;
    const problems = { reason: 'This must be JSON.' };
    setup.verdict = () => Promise.resolve({ kind: 'handled', reply: 'Wrong.', problems });
    submits(setup.slack, ada, { reason: '{' });
    await wait(() => expect(setup.slack.views.open.get(ada.id)?.errors).toEqual(problems));
    expect(setup.slack.views.open.get(ada.id)?.blocks[0]?.element.initial_value).toBe('{');
    expect(setup.slack.workspace.ephemerals).toEqual([]);
    setup.verdict = verdict;
    submits(setup.slack, ada, { reason: '{}' });
    await told('Denied: {}');
    expect(setup.slack.views.open.has(ada.id)).toBe(false);
  });

  it('that comes too late asks the person to press again', async () => {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    setup.verdict = () => promise;
    const id = setup.slack.presses(chat, message, 'Deny', ada);
    await vi.waitFor(() => expect(setup.slack.answers.has(id)).toBe(true), WAIT);
    resolve({ kind: 'handled', reply: '', form });
    await told('It took too long to show you the form. Please press the button again.');
  });
});
