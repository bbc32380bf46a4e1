/** Skills in a running gateway: added on the command line, listed by profile, read by the model, named in the trace. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { skillCommand } from '../../../src/commands/packages/skill.ts';
import { traceCommand } from '../../../src/ops/trace/commands.ts';
import { createTraces } from '../../../src/ops/trace/traces.ts';
import { pricesRule } from '../../../src/protocol/agent/usage.ts';
import { describeGateway, WAIT } from '../setup.ts';

const ABOUT = 'Brewing coffee in a pot, a press or a machine. '.repeat(20).trim();
const SKILLS: Readonly<Record<string, string>> = {
  coffee: `---\nname: coffee\ndescription: >-\n  ${ABOUT}\nlicense: MIT\n---\nGrind the beans.\n`,
  soup: '---\nname: soup\ndescription: "Cooking: soups"\n---\nBoil the beans.\n',
  bread: "---\r\nname: bread\r\ndescription: 'Baking bread'\r\n---\r\nKnead it.\r\n",
};

describeGateway('skills', {}, (fixture) => {
  it('are used by the next message once they are trusted; a profile lists its own ones', async () => {
    const source = await mkdtemp(path.join(os.tmpdir(), 'parley-skills-'));
    onTestFinished(() => rm(source, { recursive: true }));
    for (const [name, text] of Object.entries(SKILLS)) {
      await mkdir(path.join(source, name));
      await writeFile(path.join(source, name, 'SKILL.md'), text);
    }
    const { env } = fixture();
    expect(await skillCommand(['add', source, '--all', '--trust'], env)).toContain(
      'Added: bread, coffee, soup.',
    );
    const profile = path.join(fixture().home, 'profiles', 'barista');
    await mkdir(profile, { recursive: true });
    await writeFile(path.join(profile, 'config.json'), '{"skills": ["coffee"]}');
    const command = async (content: string): Promise<string> => {
      const answer = await fixture().call('/v1/sessions/http:cup/messages', { json: { content } });
      return String((await answer.json()).reply);
    };
    await vi.waitFor(async () => expect(await command('/profile barista')).toContain('`barista`'), WAIT);

    fixture().ollama.answer(
      { toolCalls: [{ name: 'read_file', args: { path: 'skills/coffee/SKILL.md' } }] },
      { when: 'make me a coffee' },
    );
    const turn = await fixture().post('cup', 'make me a coffee');
    await fixture().idle('http:cup');
    const prompts = fixture().ollama.calls.map(({ body }) => body.messages);
    const prompt = prompts.find((messages) =>
      messages.some(({ content }) => content.includes('make me a coffee')),
    );
    expect(prompt?.[0]?.content).toContain(`- coffee: ${ABOUT} (skills/coffee/SKILL.md)`);
    expect(prompt?.[0]?.content).not.toContain('soup');
    expect(JSON.stringify(prompts.at(-1))).toContain('Grind the beans.');
    const traces = createTraces(fixture().store.traces, () => pricesRule.parse({}));
    expect(await traceCommand(traces, [turn])).toContain('tool read_file (skill coffee)');

    await fixture().post('plate', 'and a soup');
    const { body } = await fixture().modelCall('and a soup');
    for (const name of ['bread: Baking bread', 'coffee: Brewing', 'soup: Cooking: soups'])
      expect(body.messages[0]?.content).toContain(`- ${name}`);
    await fixture().idle('http:plate');
  });
});
