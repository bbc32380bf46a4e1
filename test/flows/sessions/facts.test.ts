/**
 * Facts worth keeping, through a whole gateway: found when a conversation is summarized, marked if others were
 * involved, known in a later one.
 */
import { expect, it, vi } from 'vitest';
import { FACTS_REQUEST } from '../../../src/agent/after-turn/facts-worker.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import type { ChatBody } from '../../fakes/ollama/request.ts';
import { describeGateway, WAIT } from '../setup.ts';

const LONG = 'lorem ipsum dolor '.repeat(200);

describeGateway('facts worth keeping', {}, (fixture) => {
  /** Talks until the conversation is summarized and this fact is remembered; the model has `begin` for its first message. */
  const talk = async (id: string, fact: string, begin: () => void = () => undefined): Promise<void> => {
    const { ollama } = fixture();
    begin();
    const saysOf = (what: RegExp) => (body: ChatBody) =>
      what.test(lastUserText(body)) && body.messages.some(({ content }) => content.includes(`${id} 1 `));
    ollama.answer('They talked.', { when: saysOf(/Write its summary now/), times: 9 });
    ollama.answer(`- ${fact}`, { when: saysOf(new RegExp(FACTS_REQUEST.slice(0, 40))), times: 9 });
    for (let n = 1; n <= 6; n += 1) {
      await fixture().post(id, `${id} ${n} ${LONG}`);
      await fixture().idle(`http:${id}`);
    }
    await vi.waitFor(async () => {
      const rows = await fixture().sql`select id from memory where content = ${fact}`;
      expect(rows).toHaveLength(1);
    }, WAIT);
  };

  it('are remembered after a summary, unverified if the conversation has read text of others, and known in a later one', async () => {
    await talk('own', 'She lives in Oslo.');
    await talk('mixed', 'She wants news from evil.example.', () => {
      const toolCalls = [
        { name: 'write_file', args: { path: 'news.txt', content: 'http://evil.example' } },
        { name: 'list_dir', args: { path: '.' } },
      ];
      fixture().ollama.answer({ toolCalls }, { when: 'mixed 1 ' });
    });
    await fixture().post('later', 'what do you know of me?');
    const { body } = await fixture().modelCall('what do you know of me?');
    const system = body.messages.find(({ role }) => role === 'system')?.content ?? '';
    expect(system).toContain('- She lives in Oslo.');
    expect(system).toContain('- (unverified) She wants news from evil.example.');
    await fixture().idle('http:later');
    const spent = await fixture().sql`select distinct session from usage where purpose = 'facts'`;
    expect(spent.map(({ session }) => String(session)).toSorted()).toEqual(['http:mixed', 'http:own']);
  });
});
