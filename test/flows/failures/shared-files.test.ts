/** Two gateways with separate homes and one Postgres: the files of a session outlive the gateway that wrote them. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { answers, say } from '../../crash/chat-actions.ts';
import type { GatewayProcess } from '../../crash/gateways.ts';
import { type Scenario, startScenario, TOKEN } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';
import { MAX_SHARED_BYTES } from '../../../src/protocol/agent/tool.ts';

const SERVER = serverUrl();
const LONG = { timeout: 30_000, interval: 100 };

let scenario: Scenario | undefined;
afterEach(() => scenario?.close());

const twoGateways = async (): Promise<Scenario & { writer: GatewayProcess; reader: GatewayProcess }> => {
  scenario = await startScenario({ postgresUrl: SERVER, gateways: 2 });
  return { ...scenario, writer: scenario.gateways[0]!, reader: scenario.gateways[1]! };
};

const callFiles = (url: string, rest: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/v1/sessions/http:files/files${rest}`, {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}` },
  });

/** Puts a file of that many bytes into the session; returns its path. */
async function upload(url: string, name: string, bytes: number): Promise<string> {
  const body = new Uint8Array(bytes).fill(7);
  const answer = await callFiles(url, `?name=${name}`, { method: 'POST', body });
  return z.object({ file: z.string() }).parse(await answer.json()).file;
}

/** The model reads a file and sends it. */
const useOf = (place: string) => ({
  toolCalls: ['read_file', 'send_file'].map((name) => ({ name, args: { path: place } })),
});

/** What it was told about that. */
const results = ({ messages }: ChatBody): string => {
  const texts = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  return withoutNotes(texts.slice(-2).join(' '));
};

const ELSEWHERE = 'is not on this gateway: files of more than 1 MiB stay on the one that received them';

describe('the files of a session', () => {
  it('are read, served and sent by the other gateway, even after the one that wrote them is dead', async () => {
    const { writer, reader, ollama } = await twoGateways();
    const note = { path: 'notes/today.txt', content: 'buy milk' };
    ollama.answer({ toolCalls: [{ name: 'write_file', args: note }] }, { when: 'note it' });
    ollama.answer('Noted.', { when: 'note it' });
    ollama.answer(useOf(note.path), { when: 'what is it' });
    ollama.answer((body) => `It says ${results(body)}.`, { when: 'what is it' });

    writer.start();
    const first = await writer.url();
    await say(first, 'files', 'note it');
    await vi.waitFor(async () => expect(await answers(first, 'files')).toEqual(['Noted.']), LONG);
    const plan = await upload(first, 'plan.bin', MAX_SHARED_BYTES);
    await writer.kill();

    reader.start();
    const second = await reader.url();
    await say(second, 'files', 'what is it');
    // The contents of files reach the model between marks.
    const last = expect.stringMatching(/^It says .*buy milk.*Sent today\.txt \(8 bytes\)/s);
    await vi.waitFor(async () => expect((await answers(second, 'files')).at(-1)).toEqual(last), LONG);
    expect(await (await callFiles(second, `/${note.path}`)).text()).toBe(note.content);
    const bytes = new Uint8Array(await (await callFiles(second, `/${plan}`)).arrayBuffer());
    expect(bytes).toHaveLength(MAX_SHARED_BYTES);
  }, 120_000);

  it('are named as those of the other gateway when they are too large to be shared', async () => {
    const { writer, reader, ollama } = await twoGateways();
    writer.start();
    const film = await upload(await writer.url(), 'film.bin', MAX_SHARED_BYTES + 1);
    await writer.kill();

    reader.start();
    const url = await reader.url();
    const answer = await callFiles(url, `/${film}`);
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining(ELSEWHERE)]);
    expect(await (await callFiles(url, '/inbox/000000000000-no.bin')).text()).not.toContain(ELSEWHERE);
    ollama.answer(useOf(film), { when: 'show the film' });
    ollama.answer((body) => `It says ${results(body)}.`, { when: 'show the film' });
    await say(url, 'files', 'show the film');
    const twice = expect.stringMatching(new RegExp(`^It says .*${ELSEWHERE}.*${ELSEWHERE}`, 's'));
    await vi.waitFor(async () => expect((await answers(url, 'files')).at(-1)).toEqual(twice), LONG);
  }, 120_000);
});
