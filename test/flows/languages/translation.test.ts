/**
 * The gateway in German, from the first refusal to the card of a plan, on Telegram, on Discord and over HTTP: the
 * screens as people read them.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ENGLISH } from '../../../src/protocol/texts/english.ts';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from '../../fakes/slack/slack.ts';
import { describeGateway, WAIT } from '../setup.ts';

const ran: string[] = [];
const slack = await FakeSlack.open();
const env = { SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_APP_TOKEN, SLACK_API_ROOT: slack.apiRoot };
afterAll(() => slack.close());
const ANNA = '9301';
const german = new Set<unknown>(Object.values(GERMAN));
/** Sentences that differ between the two languages. */
const sentences = Object.values<unknown>(ENGLISH)
  .filter((text) => typeof text === 'string')
  .filter((text) => text.includes(' ') && !text.includes('{') && !german.has(text));

/** English sentences of the gateway on a screen. */
function englishOn(screen: string): string[] {
  return sentences.filter((text) => screen.includes(text));
}

describeGateway(
  'a person whose app is German',
  {
    telegram: true,
    discord: true,
    env,
    tools: riskyTools(ran),
    file: { limits: { messagesPerMinute: 6_000, messagesAtOnce: 1_000 } },
  },
  (fixture) => {
    beforeAll(() => void ran.splice(0));

    const from = { id: Number(ANNA), is_bot: false, first_name: 'Anna', language_code: 'de' };
    const says = (text: string): void => void fixture().telegram.says(ANNA, text, ANNA, { fields: { from } });
    const screen = (): string => fixture().telegram.screen(ANNA).join('\n\n');
    const shows = async (text: string | RegExp): Promise<void> =>
      await vi.waitFor(() => expect(screen()).toMatch(text), WAIT);
    const press = async (label: string): Promise<string> => {
      const id = fixture().telegram.press(ANNA, label, ANNA);
      return await vi.waitFor(() => {
        const text = fixture().telegram.pressed.answers.get(id);
        if (text === undefined) throw new Error('the press is not answered yet');
        return text;
      }, WAIT);
    };

    it('on Telegram: a refusal with a code, commands, an approval, a plan and an error', async () => {
      says('hallo');
      await shows(/Hallo! Ich kenne dich noch nicht[\s\S]*npx parley pair approve/);
      await fixture().store.access.addGrant('telegram', 'dm', ANNA);
      says('/help');
      await shows(/\/stop - Die laufende Antwort beenden und wartende Nachrichten verwerfen/);
      await shows(/\/memory Wörter - /);
      says('/status');
      await shows(/Ich habe nichts zu tun, nichts wartet\.\nModell: /);

      fixture().ollama.answer(
        { toolCalls: [{ name: 'wipe', args: { word: 'alt' } }] },
        { when: 'putz alles' },
      );
      says('putz alles');
      await shows(/Darf ich das tun\?[\s\S]*Ohne Antwort innerhalb von 60 Minuten wird es nicht ausgeführt/);
      expect(await press('Zustimmen')).toBe('Zugestimmt.');
      await shows(/`?(Person )?\S+.* hat zugestimmt\./);
      await shows('echo: putz alles');

      fixture().ollama.answer('Drei Dinge.\nREFLECT: no', { when: 'streich den Zaun' });
      fixture().ollama.answer('Steps\n1. [SELF] Zaun waschen\n2. [SELF] Zaun streichen', {
        when: 'streich den Zaun',
      });
      says('/plan streich den Zaun');
      await shows(/2 Schritte · nicht begonnen/);
      await shows(/Von diesem Plan ist noch nichts gelaufen/);
      const labels = fixture()
        .telegram.messages(ANNA)
        .flatMap(({ buttons }) => buttons.map(({ text }) => text));
      expect(labels).toEqual(
        expect.arrayContaining(['Ausführen', 'Schritt für Schritt', 'Ändern', 'Verwerfen']),
      );
      expect(await press('Verwerfen')).toBe('Der Plan ist verworfen; nichts davon läuft.');
      await shows(/✖ Abgebrochen/);

      says('/mode schnell');
      await shows('Einen Modus „schnell“ gibt es nicht. Modi: planner, teacher, agentic.');
      says('/schedule');
      await shows(/Hier gibt es keine Zeitpläne\. Es ist jetzt /);
      says('/link');
      await shows(/Um dieses Gespräch zu teilen, schick innerhalb von zehn Minuten im anderen Chat/);
      says('/language en');
      await shows('From now on I speak English to you.');
      says('/language auto');
      await shows('Von jetzt an richte ich mich nach der Sprache deiner App; das ist Deutsch.');
      const inGerman = screen().replace('From now on I speak English to you.', '');
      expect(englishOn(inGerman)).toEqual([]);
    });

    it('on Telegram: what only owners may do', async () => {
      await fixture().store.access.addGrant('telegram', 'dm', ANNA);
      says('/model gibtesnicht');
      await shows(/Das darf nur ein Eigentümer ändern/);
      expect(screen()).not.toContain('Only an owner');
    });

    it('on Discord: commands that only they read', async () => {
      const { channel, person } = fixture().discord.dm();
      await fixture().store.access.addGrant('discord', 'dm', person.id);
      person.locale = 'de';
      fixture().discord.slash(channel, 'stop', {}, person);
      await vi.waitFor(
        () => expect(fixture().discord.screen(channel, person).join('\n')).toContain('Es läuft nichts.'),
        WAIT,
      );
    });

    it("on Slack: by the locale of the person's profile", async () => {
      const { chat, person } = slack.workspace.dm('Bert');
      person.locale = 'de-DE';
      slack.says(chat, 'hallo?', person);
      await vi.waitFor(
        () => expect(slack.screen(chat).join('')).toContain('Ich kenne dich noch nicht'),
        WAIT,
      );
    });

    it('over HTTP: by the language of the browser', async () => {
      const headers = { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' };
      const answer = await fixture().call('/v1/sessions/http:deutsch/messages', {
        json: { content: '/help' },
        headers,
      });
      const { reply }: { reply: string } = await answer.json();
      expect(reply).toContain('/new - Ein neues Gespräch beginnen');
      expect(englishOn(reply)).toEqual([]);
    });
  },
);
