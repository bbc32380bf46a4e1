/** What the page says, without a browser: texts of one language, English for those that it lacks, numbers and elements in them. */
import { describe, expect, it } from 'vitest';
import { fillTemplate, textsScript } from '../../../../channels/http/page-files.ts';
import { modelProblem } from '../../../../channels/http/page/failures/model-problem.ts';
import {
  type GivenTexts,
  localeOf,
  refusal,
  sayFrom,
  sayParts,
} from '../../../../channels/http/page/texts.ts';
import { ENGLISH } from '../../../../src/protocol/texts/english.ts';
import GERMAN from '../../../../src/settings/languages/de.json' with { type: 'json' };
import { PARLEY } from '../../../../src/protocol/texts/parley.ts';
import { fillFrom } from '../../../../src/protocol/isomorphic/fill-text.js';
import { inEnglish, sayFrom as sayFromTable } from '../../../../src/protocol/texts/say.ts';

/** What the script of a language passes to the page. */
function givenBy(language: string, table: Parameters<typeof sayFromTable>[1]): GivenTexts {
  const code = textsScript(sayFromTable(language, table));
  return JSON.parse(code.slice(code.indexOf('=') + 1, code.lastIndexOf(';')));
}

/** The page has its own texts, those of links, those that explain why plans were given up, and what is wrong with files. */
const AREAS =
  /^(?:(?:page|link|cancelled|step|failure|time|problem)\.|turn\.plan_made$|knowledge\.(?:page|lines|by_words|by_meaning)$)/;

describe('the texts of the page', () => {
  it('are those of its language, with values and forms of plurals', () => {
    const say = sayFrom(givenBy('de', GERMAN));
    expect(say('page.close')).toBe('Schließen');
    expect([1, 3].map((count) => say('page.search.found', { count }))).toEqual([
      '1 Chat gefunden.',
      '3 Chats gefunden.',
    ]);
    expect(say('page.linked.private_with', { network: 'Slack', name: '{network}' })).toBe(
      'Slack (privater Chat mit {network})',
    );
  });

  it('are English where the language lacks them, with the plurals of English', () => {
    const say = sayFrom(givenBy('ja', { 'page.close': '閉じる' }));
    expect([say('page.close'), say('page.save')]).toEqual(['閉じる', 'Save']);
    expect(say('page.search.found', { count: 1 })).toBe('1 chat found.');
  });

  it('explain why the gateway refused something, in English in its own words', () => {
    const own = 'The file "a.zip" has 12 MB; at most 10 MB are taken.';
    expect(refusal('file_too_large', own, givenBy('de', GERMAN))).toBe('Die Datei ist zu groß.');
    expect(refusal('file_too_large', own, givenBy('en', ENGLISH))).toBe(own);
    expect(refusal('file_too_large', own, givenBy('ja', {}))).toBe(own);
    expect(refusal('of_tomorrow', own, givenBy('de', GERMAN))).toBe(own);
  });

  it('explain what is wrong with the model server, in English as the gateway reports it', () => {
    const german = { language: 'de', say: sayFrom(givenBy('de', GERMAN)) };
    const english = { language: 'en', say: sayFrom(givenBy('en', ENGLISH)) };
    const down = { state: 'down', detail: 'Ollama at http://a does not answer.' } as const;
    expect(modelProblem(down, german)).toBe('Der Modellserver ist nicht erreichbar.');
    expect(modelProblem(down, english)).toBe(down.detail);
    const replaced = [{ model: 'a', reason: 'cannot be reached', instead: 'b' }];
    const degraded = { state: 'degraded', detail: 'a; b answers', missing: ['c'], replaced } as const;
    expect(modelProblem(degraded, german)).toContain('a: stattdessen antwortet b');
    expect(modelProblem({ state: 'degraded' }, english)).toBeUndefined();
    expect(modelProblem({ state: 'up' }, german)).toBeUndefined();
  });

  it('name the command line as the gateway does', () => {
    const table = { 'page.close': '{parley} open' };
    const given = { ...givenBy('ja', table), parley: 'docker compose exec gateway parley' };
    expect(sayFrom(given)('page.close')).toBe('docker compose exec gateway parley open');
    expect(givenBy('ja', table).parley).toBe(PARLEY);
  });

  it('do not include texts that only chats show', () => {
    const { table, english } = givenBy('de', GERMAN);
    expect(Object.keys({ ...table, ...english }).filter((key) => !AREAS.test(key))).toEqual([]);
    expect(Object.keys(table)).toHaveLength(Object.keys(ENGLISH).filter((key) => AREAS.test(key)).length);
    expect(english).toEqual({});
  });

  it('have elements in their places, wherever the language puts them', () => {
    const element = { element: 'code' };
    const fill = fillFrom(
      'de',
      { ...GERMAN, 'page.greeting.below': '{slash} zeigt Befehle.' },
      ENGLISH,
      'parley',
    );
    expect(sayParts('page.greeting.below', { slash: element }, fill)).toEqual([element, ' zeigt Befehle.']);
    const english = fillFrom('en', ENGLISH, ENGLISH, 'parley');
    expect(sayParts('page.approval.may_i', { tool: element }, english)).toEqual(['May I do this? ', element]);
  });

  it('have times and numbers as the browser writes that language, else as the language does', () => {
    expect(localeOf('de', ['fr', 'de-AT', 'de'])).toBe('de-AT');
    expect(localeOf('de', ['fr', 'en-US'])).toBe('de');
    expect(localeOf('pt-BR', ['pt-PT'])).toBe('pt-BR');
  });
});

describe('the files of the page', () => {
  it('have texts as text, never as markup, and code between backticks', () => {
    const say = sayFromTable('fr', { 'page.close': '<b>"Fermer" & co</b>', 'page.save': 'avec `npx`' });
    const html = '<p title="{{page.close}}">{{page.save}}</p>';
    expect(fillTemplate(html, 'html', say, {})).toBe(
      '<p title="&lt;b&gt;&quot;Fermer&quot; &amp; co&lt;/b&gt;">avec <code>npx</code></p>',
    );
    expect(fillTemplate('{"a": "{{page.close}}"}', 'json', say, {})).toBe(
      '{"a": "<b>\\"Fermer\\" & co</b>"}',
    );
  });

  it('are refused, with the location, for a text that does not exist', () => {
    expect(() => fillTemplate('{{page.nothing}}', 'html', inEnglish, {})).toThrow('page.nothing');
  });
});
