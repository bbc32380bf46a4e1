/** The text tables: complete, with the same values in every language, all of them in use, and no text outside them. */
import { describe, expect, it } from 'vitest';
import { ENGLISH } from '../../../src/protocol/texts/english.ts';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import { commandNames } from '../../../src/commands/command-list.ts';
import { PLACE, placesOf, type Template } from '../../../src/protocol/texts/template.ts';
import { readFileSync } from 'node:fs';
import { readSources, withoutComments } from '../../architecture/imports.ts';

const english: [string, Template][] = Object.entries(ENGLISH);
const entries: [string, Template][] = Object.entries(GERMAN);
const german = new Map(entries.filter(([key]) => !key.startsWith('setting.')));
const settingDescriptions = entries.flatMap(([key, text]) => (key.startsWith('setting.') ? [text] : []));
const formsOf = (template: Template): string[] =>
  typeof template === 'string' ? [template] : Object.values(template);
/** The code without comments. */
const sources = readSources(['src', 'channels'])
  .filter(({ path }) => !path.startsWith('src/protocol/texts/'))
  .map(({ path, text }) => ({ path, text: withoutComments(text, path.endsWith('.tsx')) }));
const code = sources.map(({ text }) => text).join('\n');
/** Page files that contain text without a script. */
const templates = ['index.html', 'manifest.webmanifest'].map((name) =>
  readFileSync(new URL(`../../../channels/http/page/${name}`, import.meta.url), 'utf8'),
);
const inTemplates = new Set(templates.flatMap((text) => text.match(/(?<=\{\{)[\w.]+(?=\}\})/g) ?? []));

describe('the texts', () => {
  it('are all in German, and nothing else is', () => {
    const keys = english.map(([key]) => key);
    expect([...german.keys()].toSorted()).toEqual(keys.toSorted());
  });

  it('have the same values in German as in English', () => {
    const differ = english.filter(
      ([key, template]) => placesOf(template).join() !== placesOf(german.get(key) ?? '').join(),
    );
    expect(differ.map(([key]) => key)).toEqual([]);
  });

  it('have both forms of plurals in German, as in English', () => {
    const lack = [...german].filter(
      ([, template]) => typeof template !== 'string' && template.one === undefined,
    );
    expect(lack.map(([key]) => key)).toEqual([]);
  });

  it('have a singular form, unless no noun changes with the number', () => {
    const same = english.filter(
      ([, template]) => typeof template !== 'string' && template.one === template.other,
    );
    expect(same.map(([key]) => key).filter((key) => !WITHOUT_NOUN.includes(key))).toEqual([]);
  });

  it('are all in use', () => {
    const unused = english.filter(
      ([key]) => !code.includes(`'${key}'`) && !isBuilt(key) && !inTemplates.has(key),
    );
    expect(unused.map(([key]) => key)).toEqual([]);
  });

  it('are not empty, and contain no brace without a value', () => {
    const all = [...english, ...german];
    const odd = all.filter(([, template]) =>
      formsOf(template).some((form) => form.trim() === '' || /[{}]/.test(form.replaceAll(PLACE, ''))),
    );
    expect(odd.map(([key]) => key)).toEqual([]);
  });

  it('name commands through placeholders, so that each reader sees what the channel accepts', () => {
    const commands = english.flatMap(([key]) => /^about\.(\w+)$/.exec(key)?.[1] ?? []);
    const literal = new RegExp(`(?<![\\w{/.])/(?:${commands.join('|')})(?![\\w/]|\\.\\w)`);
    const all = [...english, ...german];
    const named = all.filter(([, template]) => formsOf(template).some((form) => literal.test(form)));
    expect(named.map(([key]) => key)).toEqual([]);
    const places = all.flatMap(([, template]) => placesOf(template).filter((name) => name.startsWith('/')));
    expect(places.length).toBeGreaterThan(100);
    expect(places.filter((name) => !commands.includes(name.slice(1)))).toEqual([]);
  });

  it('name the command line through its placeholder or constant, as do all errors and remedies', () => {
    const commands = [...commandNames(), '--[a-z]+', '<command>', '\\$\\{'].join('|');
    const literal = new RegExp(`npx parley|(?<![\\w.-])parley (?:${commands})(?![\\w-])`);
    expect(["run 'parley pair'", 'use npx parley'].filter((text) => literal.test(text))).toHaveLength(2);
    const inCode = sources
      .filter(({ path }) => path !== 'src/launch/command-here.js')
      .flatMap(({ path, text }) => text.split('\n').map((line) => `${path}: ${line.trim()}`))
      .filter((line) => literal.test(line) && !/applicationName|advisory_xact_lock/.test(line));
    const inTables = [...english, ...german].flatMap(([, template]) => formsOf(template));
    const texts = [...inTables, ...settingDescriptions.map(String), ...templates];
    expect([...inCode, ...texts.filter((text) => literal.test(text))]).toEqual([]);
  });

  it('describe commands and arguments in at most 100 characters, the limit of some networks', () => {
    const long = [...english, ...german].filter(
      ([key, text]) => /^(about|argument)\./.test(key) && (typeof text !== 'string' || text.length > 100),
    );
    expect(long.map(([key]) => key)).toEqual([]);
  });

  it('address users in German with du', () => {
    const formal = [...german].filter(([, template]) =>
      /\b(Ihnen|Ihre?[mnrs]?)\b/.test(formsOf(template).join(' ')),
    );
    expect(formal.map(([key]) => key)).toEqual([]);
  });

  it('do not appear in code of folders that refer to them by key', () => {
    const found = sources
      .filter(({ path }) => MOVED.some((place) => path.startsWith(place)))
      .flatMap(({ path, text }) => [...text.matchAll(SENTENCE)].map(([literal]) => `${path}: ${literal}`))
      .filter((found) => !ALLOWED.some((allowed) => found.startsWith(allowed)));
    expect(found).toEqual([]);
  });
});

/** Texts with a number and no noun after it. */
const WITHOUT_NOUN = [
  'status.waiting',
  'page.time.minutes',
  'page.row.new',
  'page.every.minutes',
  'page.inbox.count',
  'page.part.thought_for',
  'page.linked.count',
  'page.plan.run_times',
];

/** Folders and files with user texts in the tables. */
const MOVED = [
  'channels/http/page/',
  'channels/discord/interactions/',
  'channels/discord/reactions.ts',
  'channels/slack/interactions.ts',
  'channels/telegram/receiving/publishing.ts',
  'src/intake/',
  'src/delivery/',
  'src/schedule/',
  'src/agent/plans/',
  'src/agent/turn/',
  'src/agent/after-turn/after-turn.ts',
  'src/agent/profiles/commands.ts',
  'src/ops/usage.ts',
  'src/mcp/prompt-command.ts',
  'src/media/speech.ts',
  'src/media/speech-server.ts',
  'src/media/transcriber.ts',
  'src/media/audio-server.ts',
  'src/media/settings.ts',
  'src/agent/model/',
  'src/providers/',
];

/** A literal that starts like a sentence: a capital, then at least two more words. */
const SENTENCE = /(['`])[A-Z][a-z]*,?(?: [^\s'`]+){2,}[^'`\n]*\1/g;

/** The texts of these files are for logs, API clients, the model, or authors of settings. */
const ALLOWED = [
  "channels/http/page/shell/keys.tsx: 'Shift + Enter'",
  "channels/http/page/settings/sign-ins.tsx: 'Mac OS X'",
  "channels/http/page/requests.ts: 'No longer wanted.",
  'channels/discord/interactions/endpoint.ts',
  "src/intake/api/new-session.ts: 'A new session has no model to take back",
  "src/schedule/heartbeat.ts: 'This counts for all gateways",
  'src/agent/model/models.ts: \'There is no profile "default"',
  'src/agent/model/stateless-completion.ts: `Your answer does not have the requested form',
  'src/agent/model/stateless-tools.ts',
  "src/agent/model/stream-watchdog.ts: 'This answer is not read",
  'src/providers/server-calls.ts',
  'src/providers/ollama/forced-call.ts',
  'src/providers/ollama/models.ts',
  "src/providers/exchanges.ts: 'No result:",
  'src/providers/shape.ts',
  'src/delivery/webhooks.ts',
  'src/delivery/push/encryption.ts',
  "src/delivery/push/push.ts: 'The endpoint must be",
  'src/delivery/push/push.ts: `The push service answered',
  'src/agent/plans/correction.ts: `Failed runs in a row',
  'src/agent/plans/correction.ts: `Steps that may still be added',
  'src/agent/plans/correction.ts: `Your last decision',
  'src/agent/plans/gate.ts: `The step, number',
  'src/agent/plans/run-plan.ts',
  'src/agent/plans/step-prompt.ts',
  "src/agent/plans/draft-plan.ts: 'End with a separate line",
  "src/agent/plans/draft-plan.ts: 'Do not ",
  "src/agent/plans/draft-plan.ts: 'If you can answer it",
  'src/agent/plans/draft-plan.ts: `Begin with its analysis',
  "src/agent/plans/draft-plan.ts: 'Review it in exactly",
  "src/agent/plans/draft-plan.ts: 'Plan Adjustments: the",
  "src/agent/plans/draft-plan.ts: 'And this is a review",
  "src/agent/plans/draft-plan.ts: 'First a heading",
  "src/agent/plans/draft-plan.ts: 'Comma test",
  "src/agent/plans/draft-plan.ts: 'Write nothing but",
  "src/agent/plans/plan-text.ts: 'My plan.",
  "src/agent/plans/plan-text.ts: 'The plan is made",
  "src/agent/plans/plan-text.ts: 'There is no plan",
  'src/agent/plans/plan-text.ts: `The plan before',
  'src/agent/turn/iteration.ts: `Not run',
  'src/agent/turn/turn-payload.ts',
  'src/delivery/final/deliver.ts: `The channel',
  'src/delivery/final/payload.ts',
  'src/delivery/rate/scheduler.ts',
  'src/schedule/describe.ts',
  'src/intake/api/turn-api.ts',
  'src/intake/membership.ts',
  'src/intake/api/file-api.ts',
  'src/intake/hook',
  'src/intake/api/conversation-api.ts',
  'src/intake/api/fork-session.ts',
  'src/intake/api/turn-api.ts',
  'src/intake/surfaces/surface-api.ts',
];

/** Keys that code composes: `sources.${kind}`, `page.plan.state_${state}`. */
function isBuilt(key: string): boolean {
  const stems = [...key.matchAll(/[._]/g)].map(({ index }) => key.slice(0, index + 1));
  return stems.some((stem) => code.includes(`\`${stem}\${`));
}
