/** What the pages say to write in a chat, and the files they say to write into the home, against a whole gateway. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { FAKE_MODELS } from '../fakes/ollama/models.ts';
import { describeGateway, type GatewayFixture } from '../flows/setup.ts';
import { codeBlocks, proseOf, tableRows } from './pages.ts';

/** What a reader writes where a page has a word in capitals. */
const EXAMPLES: Readonly<Record<string, string>> = {
  '/link CODE': '/link ABCDE-FGHJK',
  '/queue MODE': '/queue steer',
  '/stream MODE': '/stream off',
  '/mode MODE': '/mode teacher',
  '/profile ID': '/profile coder',
  '/model NAME': '/model plain',
  '/memory WORDS': '/memory my cat',
  '/forget NUMBER': '/forget 1',
  '/verify NUMBER': '/verify 1',
  '/title TEXT': '/title Cats and dogs',
  '/deny REASON': '/deny not today',
  '/answer TEXT': '/answer half past ten',
  '/rules remove NUMBER': '/rules remove 1',
};

const commandRows = ['docs/chatting.md', 'README.md']
  .flatMap((page) => tableRows(page))
  .filter(([cell = '']) => cell.startsWith('`/'));
const written = [
  ...new Set(
    commandRows.flatMap((row) => [...row.join(' ').matchAll(/`(\/[^`]+)`/g)].map(([, text = '']) => text)),
  ),
];
const profile = exampleOf('docs/profiles-and-planning.md', 'json');
const language =
  codeBlocks('docs/configuration.md').find(({ text }) => text.includes('"stop.stopped"'))?.text ?? '';
const skill = exampleOf('docs/profiles-and-planning.md', 'md');

/** The first block of a language on a page. */
function exampleOf(page: string, language: string): string {
  const block = codeBlocks(page).find((found) => found.language === language);
  if (block === undefined) throw new Error(`${page} has no example in ${language}`);
  return block.text;
}

/** A home with every file that the pages give as an example, each where the page says. */
async function furnish(home: string): Promise<void> {
  const files = {
    'config.json': exampleOf('docs/configuration.md', 'json'),
    'languages/fr.json': language,
    'profiles/coder/config.json': profile,
    'profiles/coder/system_prompt.md': 'You write code.',
    'workspace/AGENTS.md': 'Speak like a sailor.',
    'workspace/skills/weather/SKILL.md': skill,
  };
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.join(home, path.dirname(file)), { recursive: true });
    await writeFile(path.join(home, file), text, { mode: 0o600 });
  }
}

async function replyTo(fixture: GatewayFixture, id: string, content: string): Promise<string> {
  const answer = await fixture.call(`/v1/sessions/http:${id}/messages`, { json: { content } });
  const { reply }: { reply?: string } = await answer.json();
  return reply ?? `${content} is taken for a message`;
}

const models = [
  ...FAKE_MODELS,
  { name: 'qwen3:14b', contextLength: 8_192, capabilities: ['completion', 'tools', 'thinking'] as const },
];

describeGateway('a gateway set up as the pages say', { furnish, model: { models } }, (fixture) => {
  it('has the commands of the pages, and no others', async () => {
    const answer = await fixture().call('/v1/commands');
    const { commands }: { commands: { name: string }[] } = await answer.json();
    const names = new Set(written.map((text) => text.slice(1).split(' ')[0] ?? ''));
    expect(names.size).toBeGreaterThan(15);
    expect(names).toEqual(new Set(commands.map(({ name }) => name)));
  });

  it.each(written)('answers %s at once, without a model', async (text) => {
    const calls = fixture().ollama.calls.length;
    const typed = /[A-Z]{2}/.test(text) ? EXAMPLES[text] : text;
    if (typed === undefined) throw new Error('add an example of what to write to EXAMPLES');
    const reply = await replyTo(fixture(), `writes-${written.indexOf(text)}`, typed);
    expect(reply).not.toContain('is taken for a message');
    expect(reply).toMatch(/\w+ \w+/);
    expect(fixture().ollama.calls).toHaveLength(calls);
  });

  it('accepts every schedule on the page about schedules, and removes it again', async () => {
    const prose = proseOf('docs/schedules.md');
    const whole = /`(\/schedule add "[^"]+" ([^`]+))`/.exec(prose);
    const [, first = '', task = ''] = whole ?? [];
    const others = [...prose.matchAll(/`("[^"]+")`/g)].map(([, when]) => `/schedule add ${when} ${task}`);
    expect(others.length).toBeGreaterThan(2);
    for (const command of [first, ...others])
      expect(await replyTo(fixture(), 'schedules', command)).toContain(task);
    expect(await replyTo(fixture(), 'schedules', '/schedule')).toMatch(/2\. /);
    expect(await replyTo(fixture(), 'schedules', '/schedule remove 2')).toMatch(/removed/i);
  });

  it('answers in the language of the page when a user chooses it', async () => {
    expect(await replyTo(fixture(), 'french', '/language fr')).toContain('français');
    const texts: Record<string, unknown> = JSON.parse(language);
    expect(await replyTo(fixture(), 'french', '/stop')).toBe(texts['stop.nothing']);
    await replyTo(fixture(), 'french', '/language auto');
  });

  it('puts the persona, the prompt files and the skills into the prompt', async () => {
    await fixture().post('prompt', 'Who are you?');
    const { body } = await fixture().modelCall('Who are you?');
    const prompt = body.messages.find(({ role }) => role === 'system')?.content ?? '';
    const { persona }: { persona: string } = JSON.parse(exampleOf('docs/configuration.md', 'json'));
    expect(prompt).toContain(persona);
    expect(prompt).toContain('Speak like a sailor.');
    const [, name = '', description = ''] = /name: (.*)\ndescription: (.*)\n/.exec(skill) ?? [];
    expect(prompt).toContain(`skills/${name}/SKILL.md`);
    expect(prompt).toContain(description);
  });

  it('answers in the profile of the page, with its model, prompt and tools', async () => {
    const { model, enabledTools }: { model: string; enabledTools: string[] } = JSON.parse(profile);
    expect(await replyTo(fixture(), 'profiles', '/profile coder')).toContain('coder');
    await fixture().post('profiles', 'Write me a loop.');
    const { body } = await fixture().modelCall('Write me a loop.');
    expect(body.model).toBe(model);
    expect(body.messages[0]?.content).toContain('You write code.');
    expect(body.tools?.map(({ function: tool }) => tool.name).toSorted()).toEqual(
      [...enabledTools, 'plan', 'todo', 'scratchpad'].toSorted(),
    );
  });
});
