/** Two gateways with separate homes and one Postgres: a file outlives the gateway that wrote it. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answers, say } from '../../crash/chat-actions.ts';
import { type Scenario, startScenario } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';

const SERVER = serverUrl();
const LONG = { timeout: 30_000, interval: 100 };

let scenario: Scenario | undefined;
afterEach(() => scenario?.close());

describe('the files of a session', () => {
  it('are read by the other gateway, even after the one that wrote them is dead', async () => {
    const { gateways, ollama } = (scenario = await startScenario({ postgresUrl: SERVER, gateways: 2 }));
    const [writer, reader] = [gateways[0]!, gateways[1]!];
    const note = { path: 'notes/today.txt', content: 'buy milk' };
    ollama.answer({ toolCalls: [{ name: 'write_file', args: note }] }, { when: 'note it' });
    ollama.answer('Noted.', { when: 'note it' });
    ollama.answer({ toolCalls: [{ name: 'read_file', args: { path: note.path } }] }, { when: 'what is it' });
    ollama.answer(
      (body) =>
        `It says ${withoutNotes(body.messages.findLast(({ role }) => role === 'tool')?.content ?? '')}.`,
      {
        when: 'what is it',
      },
    );

    writer.start();
    const first = await writer.url();
    await say(first, 'files', 'note it');
    await vi.waitFor(async () => expect(await answers(first, 'files')).toEqual(['Noted.']), LONG);
    await writer.kill();

    reader.start();
    const second = await reader.url();
    await say(second, 'files', 'what is it');
    // The contents of files reach the model between marks.
    const both = ['Noted.', expect.stringMatching(/^It says .*buy milk/s)];
    await vi.waitFor(async () => expect(await answers(second, 'files')).toEqual(both), LONG);
  }, 120_000);
});
