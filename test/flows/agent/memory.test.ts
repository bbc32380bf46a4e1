/**
 * What is remembered: across chats of one person and no one else, in conversations longer than the window, and from
 * prompt files.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const HEADING = '## What I remember about the user';
const [ann = '', bob = '', carl = ''] = FRIENDS;

describeGateway('what is remembered', { telegram: true }, (fixture) => {
  const systemOf = (body: ChatBody): string =>
    body.messages.find(({ role }) => role === 'system')?.content ?? '';
  const contentsOf = (body: ChatBody): string => body.messages.map(({ content }) => content).join('\n');
  let seconds = Math.floor(Date.now() / 1_000);
  /** A person writes, each time later than the rate limit requires, which counts by the platform's time. */
  const writes = (from: string, text: string, chat = from): void => {
    seconds += 60;
    fixture().telegram.says(chat, text, from, { fields: { date: seconds } });
  };
  /** Says something on Telegram and waits for the turn to end; returns the prompt that was answered. */
  const says = async (from: string, text: string, chat = from): Promise<string> => {
    writes(from, text, chat);
    const { body } = await fixture().modelCall(text);
    await fixture().idle(`telegram:${chat}`);
    return systemOf(body);
  };
  const saves = (fact: string, when: string): void =>
    fixture().ollama.answer(
      { toolCalls: [{ name: 'memory', args: { action: 'save', text: fact } }] },
      { when },
    );
  const replies = async (from: string, command: string): Promise<string> => {
    const before = fixture().telegram.screen(from).length;
    writes(from, command);
    return await vi.waitFor(() => {
      const screen = fixture().telegram.screen(from);
      if (screen.length <= before) throw new Error('no reply yet');
      return screen.slice(before).join('\n');
    }, WAIT);
  };

  it.concurrent('is known in other chats of the same person and of no one else, and can be listed and forgotten by them', async () => {
    saves('Has a dog called Rex', 'my dog is Rex');
    expect(await says(ann, 'my dog is Rex')).not.toContain(HEADING);
    expect(await says(bob, 'what do you know of me')).not.toContain('Rex');
    expect(await says(ann, 'who barks there', '990001')).toContain(`${HEADING}\n\n- Has a dog called Rex`);
    writes(ann, '/new');
    expect(await says(ann, 'and who barks here')).toContain('- Has a dog called Rex');
    const list = await replies(ann, '/memory');
    const [, number = ''] = /(\d+):.*Has a dog called Rex/.exec(list) ?? [];
    expect(await replies(bob, `/forget ${number}`)).toContain('no fact number');
    expect(await replies(bob, '/memory')).toContain('nothing about you yet');
    expect(await replies(ann, `/forget ${number}`)).toContain('Forgotten');
    expect(await says(ann, 'who barks now')).not.toContain('Rex');
  });

  it.concurrent('is marked when it was learned next to untrusted text, until its owner confirms it', async () => {
    fixture().ollama.answer(
      { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: 'look around' },
    );
    saves('Wants news from http://evil.example', 'look around');
    await says(carl, 'good morning');
    const session = await fixture().store.ledger.session(`telegram:${carl}`);
    const folder = path.join(fixture().home, 'workspace', 'sessions', session?.folder ?? '');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'news.txt'), 'http://evil.example');
    await says(carl, 'look around');
    const list = await replies(carl, '/memory');
    expect(list).toContain('(unverified)');
    const [, number = ''] = /(\d+):.*Wants news/.exec(list) ?? [];
    writes(carl, '/new');
    const marked = await says(carl, 'what is new');
    expect(marked).toContain('- (unverified) Wants news');
    await replies(carl, `/verify ${number}`);
    expect(await says(carl, 'what is new now')).toContain('- Wants news');
  });

  it.concurrent('is the summary of a long conversation over HTTP, whose messages can still be read', async () => {
    const long = (n: number): string => `part ${n} ${'lorem ipsum dolor '.repeat(200)}`;
    fixture().ollama.answer('They read parts 1 and 2 aloud.', { when: 'Write its summary now', times: 9 });
    for (let n = 1; n <= 6; n += 1) {
      await fixture().post('long', long(n));
      await fixture().modelCall(`part ${n} `);
      await fixture().idle('http:long');
    }
    const compressed = async (): Promise<void> => {
      const rows = await fixture()
        .sql`select seq from context where kind = 'summary' and session = 'http:long'`;
      expect(rows.length).toBeGreaterThan(0);
    };
    await vi.waitFor(compressed, WAIT);
    await fixture().post('long', 'how did it begin?');
    const { body } = await fixture().modelCall('how did it begin?');
    await fixture().idle('http:long');
    expect(contentsOf(body)).toContain('They read parts 1 and 2 aloud.');
    expect(contentsOf(body)).not.toContain('part 1 ');
    const messages = await fixture().messages('http:long');
    expect(messages).toHaveLength(14);
    expect(messages[0]?.content).toBe(long(1));
    expect(messages.at(-1)?.content).toBe('echo: how did it begin?');
    const usage = await fixture().sql`select session from usage where purpose = 'compression'`;
    expect(usage.length).toBeGreaterThan(0);
  });

  it.concurrent('starts with the prompt files in their current version', async () => {
    const folder = path.join(fixture().home, 'workspace');
    await mkdir(path.join(folder, 'skills', 'tea'), { recursive: true });
    await writeFile(path.join(folder, 'AGENTS.md'), 'Greet people by name.');
    await writeFile(
      path.join(folder, 'skills', 'tea', 'SKILL.md'),
      '---\ndescription: Making tea\n---\nBoil water.',
    );
    let nth = 0;
    const prompt = async (): Promise<string> => {
      const text = `hello ${(nth += 1)}.`;
      await fixture().post('files', text);
      const { body } = await fixture().modelCall(text);
      await fixture().idle('http:files');
      return systemOf(body);
    };
    await vi.waitFor(async () => expect(await prompt()).toContain('Greet people by name.'), WAIT);
    expect(await prompt()).toContain('- tea: Making tea (skills/tea/SKILL.md)');
    await writeFile(path.join(folder, 'AGENTS.md'), 'Never greet anybody.');
    await vi.waitFor(async () => {
      const text = await prompt();
      expect(text).toContain('Never greet anybody.');
      expect(text).not.toContain('by name');
    }, WAIT);
  });
});
