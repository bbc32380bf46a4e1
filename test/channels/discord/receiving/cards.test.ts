/**
 * Embeds, components v2 and forwarded messages, in the forms of Discord's API (`Embed`, `TextDisplay`, `MessageSnapshot`):
 * the text of others, whoever shows it.
 */
import { describe, expect, it } from 'vitest';
import { MAX_CARD_CHARS, textOfCards } from '../../../../channels/discord/receiving/cards.ts';
import { readMessage, toInbound } from '../../../../channels/discord/receiving/inbound.ts';

const BOT = '900';
const ada = { id: '1', username: 'ada', global_name: 'Ada' };
const app = { id: '2', username: 'GitHub', bot: true };
const bare = { id: '50', channel_id: '5', content: '', timestamp: '2026-01-01T00:00:00Z', type: 0 };
const embed = {
  type: 'rich',
  author: { name: 'octo' },
  title: 'Build failed',
  url: 'https://ci.example/7',
  description: 'exit code 137',
  fields: [{ name: 'Branch', value: 'main', inline: true }],
  footer: { text: 'CI' },
  color: 1,
};
const EMBED_TEXT = 'octo\nBuild failed (https://ci.example/7)\nexit code 137\nBranch: main\nCI';
const v2 = [
  {
    type: 17,
    components: [
      { type: 10, content: '# Deploy' },
      { type: 9, components: [{ type: 10, content: 'done' }] },
    ],
  },
];
const snapshot = { message: { content: 'the moon is cheese', embeds: [embed], timestamp: 'x', type: 0 } };

function read(fields: object) {
  const message = readMessage({ ...bare, author: ada, ...fields });
  const inbound = message && toInbound(message, { botId: BOT }, { place: 'group' });
  if (inbound === undefined) throw new Error('not read');
  return inbound;
}

/** The quote in Ada's reply to a message of an app. */
const quoted = (fields: object) =>
  read({
    content: 'what does this mean?',
    type: 19,
    referenced_message: { ...bare, author: app, ...fields },
  }).quoted;

describe('cards on Discord', () => {
  it('are read in messages of apps, also in a reply to one', () => {
    expect(read({ author: app, embeds: [embed] }).content).toBe(EMBED_TEXT);
    expect(quoted({ embeds: [embed] })).toMatchObject({ by: 'other', author: 'GitHub', text: EMBED_TEXT });
    expect(quoted({ flags: 1 << 15, components: v2 })?.text).toBe('# Deploy\ndone');
  });

  it('are read in forwarded messages, also in a reply to one', () => {
    expect(read({ message_snapshots: [snapshot] })).toMatchObject({
      content: `the moon is cheese\n${EMBED_TEXT}`,
      forwarded: true,
    });
    expect(quoted({ author: ada, message_snapshots: [snapshot] })).toMatchObject({
      by: 'other',
      text: `the moon is cheese\n${EMBED_TEXT}`,
    });
  });

  it("are not read below people's own words and the bot's answers, where they are previews of links", () => {
    expect(read({ content: 'https://ci.example/7', embeds: [embed] }).content).toBe('https://ci.example/7');
    expect(quoted({ author: ada, content: 'mine', embeds: [embed] })).toMatchObject({
      by: 'sender',
      text: 'mine',
    });
    const own = { author: { id: BOT, username: 'parley', bot: true }, content: 'my answer', embeds: [embed] };
    expect(quoted(own)).toMatchObject({ by: 'bot', text: 'my answer' });
  });

  it('are read with all 25 fields, their marks as they are, and times and emojis as people see them', () => {
    const fields = Array.from({ length: 25 }, (_, at) => ({
      name: `**Host ${at}**`,
      value: '<:down:77> `exit 1` since <t:1769851620:R>, see </status:55> [log](https://ci.example)',
    }));
    const text = textOfCards({ embeds: [{ fields }], components: [] });
    const lines = text.split('\n');
    expect(lines).toHaveLength(25);
    expect(lines[24]).toBe(
      '**Host 24**: :down: `exit 1` since 2026-01-31 09:27 UTC, see /status [log](https://ci.example)',
    );
  });

  it(`are cut in the middle after ${MAX_CARD_CHARS} characters, and left out where their form is unknown`, () => {
    const of = (description: string) => textOfCards({ embeds: [{ description }], components: [] });
    expect(of('x'.repeat(MAX_CARD_CHARS))).toHaveLength(MAX_CARD_CHARS);
    const cut = of(`a${'x'.repeat(MAX_CARD_CHARS)}z`);
    expect(cut).toMatch(/^ax+\n\[… 2 characters left out …\]\nx+z$/);
    const odd = {
      embeds: [7, { title: 5, fields: 'x', description: 'ok' }],
      components: [{ type: 'x' }, null],
    };
    expect(textOfCards(odd)).toBe('ok');
    expect(read({ author: app, content: 'hi', embeds: 'x', components: 7 }).content).toBe('hi');
  });
});

describe('tags in a text on Discord', () => {
  it.each([
    ['nice <:party:12> <a:wave:34>', 'nice :party: :wave:'],
    ['use </ask about:55> or </ask:55>', 'use /ask about or /ask'],
    ['at <t:1700000000:R> or <t:1700000000>', 'at 2023-11-14 22:13 UTC or 2023-11-14 22:13 UTC'],
    ['in <#5> for <@&6>, not <t:99999999999:R', 'in <#5> for <@&6>, not <t:99999999999:R'],
    ['far <t:9999999999:F> <t:-9999999999>', 'far 2286-11-20 17:46 UTC 1653-02-10 06:13 UTC'],
  ])('"%s" reads "%s"', (content, text) => {
    expect(read({ content }).content).toBe(text);
  });
});
