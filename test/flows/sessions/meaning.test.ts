/**
 * What is remembered, found by meaning in a whole gateway: with a model that is missing, and with one that is
 * configured at runtime.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { describeGateway, WAIT } from '../setup.ts';

const settings = (embeddingModel: string): string => JSON.stringify({ memory: { embeddingModel } });

describeGateway(
  'a memory with an embedding model',
  { furnish: (home) => writeFile(path.join(home, 'config.json'), settings('gone:latest'), { mode: 0o600 }) },
  (fixture) => {
    const command = async (content: string): Promise<string> => {
      const answer = await fixture().call('/v1/sessions/http:me/messages', { json: { content } });
      const { reply }: { reply: string } = await answer.json();
      return reply;
    };

    it('is searched by words while the model is missing, which is logged, and by meaning once it is there', async () => {
      const call = { name: 'memory', args: { action: 'save', text: 'Works as a nurse' } };
      fixture().ollama.answer({ toolCalls: [call] }, { when: 'I am a nurse' });
      await fixture().post('me', 'I am a nurse');
      await fixture().idle('http:me');
      expect((await fixture().messages('http:me')).at(-1)?.isError).toBe(false);
      await vi.waitFor(() => {
        const told = fixture().log.find((line) => line.includes('memories_without_vectors'));
        expect(told).toContain('gone:latest');
        expect(told).toContain('memory.embeddingModel in config.json');
      }, WAIT);
      expect(await command('/memory nurse')).toContain('Works as a nurse');
      expect(await command('/memory hospital')).toContain('nothing that matches');

      await writeFile(path.join(fixture().home, 'config.json'), settings('fake:latest'), { mode: 0o600 });
      await vi.waitFor(async () => {
        const rows = await fixture().sql`select vector_model from memory where vector is not null`;
        expect([...rows]).toEqual([{ vector_model: 'fake:latest' }]);
      }, WAIT);
    });
  },
);
