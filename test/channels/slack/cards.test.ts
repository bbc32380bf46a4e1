/** Cards of apps on Slack, in the forms of Slack's reference ("Secondary message attachments", "Block Kit"). */
import { describe, expect, it } from 'vitest';
import { cardText, MAX_CARD_CHARS } from '../../../channels/slack/cards.ts';
import { readMessage } from '../../../channels/slack/events.ts';
import { toInbound } from '../../../channels/slack/inbound.ts';

const self = { teamId: 'T1', userId: 'U0PARLEY', botId: 'B0PARLEY', name: 'parley' };
const attachment = {
  fallback: '[no preview available]',
  pretext: 'New alert',
  title: 'Build failed',
  text: 'exit code <https://ci.example|137>',
  fields: [{ title: 'Branch', value: 'main', short: true }],
  footer: 'CI',
};
const blocks = [
  { type: 'header', text: { type: 'plain_text', text: 'Deploy' } },
  { type: 'divider' },
  { type: 'section', fields: [{ type: 'mrkdwn', text: '*Version*\n1.2' }] },
  {
    type: 'context',
    elements: [
      { type: 'mrkdwn', text: 'by Ada' },
      { type: 'image', image_url: 'x' },
    ],
  },
];

function content(fields: object): string | undefined {
  const raw = { type: 'message', ts: '1721609600.123456', text: '', ...fields };
  const message = readMessage(raw, 'C0ROOM00');
  return message && toInbound(message, self, new Map())?.content;
}

describe('cards on Slack', () => {
  it('are the text of an app that writes no other, and are added to one that does', () => {
    expect(content({ bot_id: 'B0CI', subtype: 'bot_message', attachments: [attachment] })).toBe(
      'New alert\nBuild failed\nexit code 137 (https://ci.example)\nBranch: main\nCI',
    );
    expect(content({ bot_id: 'B0CI', blocks })).toBe('Deploy\n*Version*\n1.2\nby Ada');
    expect(content({ bot_id: 'B0CI', text: 'Deploy 1.2', blocks })).toBe('Deploy 1.2');
    expect(content({ bot_id: 'B0CI', attachments: [{ fallback: 'only this' }] })).toBe('only this');
    expect(content({ bot_id: 'B0CI', attachments: [{ fallback: 'no', blocks }] })).toContain('by Ada');
  });

  it("are not read below people's own words, where they are previews of links", () => {
    expect(content({ user: 'U0ADA', text: 'see this', attachments: [attachment] })).toBe('see this');
  });

  it(`are cut in the middle after ${MAX_CARD_CHARS} characters, and an unknown form loses no message`, () => {
    expect(cardText([{ text: 'x'.repeat(MAX_CARD_CHARS) }], [])).toHaveLength(MAX_CARD_CHARS);
    expect(cardText([{ text: `a${'x'.repeat(MAX_CARD_CHARS)}z` }], [])).toMatch(
      /^ax+\n\[… 2 characters .*z$/s,
    );
    expect(content({ bot_id: 'B0CI', text: 'hi', attachments: 7, blocks: 'x' })).toBe('hi');
    expect(content({ bot_id: 'B0CI', blocks: [{ type: 'x', text: 5, fields: 7 }, ...blocks] })).toContain(
      'Deploy',
    );
  });
});
