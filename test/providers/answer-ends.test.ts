/** What is remembered of how a server ends its answers. */
import { expect, it, onTestFinished } from 'vitest';
import type { ChatChunk } from '../../src/protocol/agent/provider.ts';
import { createOpenai } from '../../src/providers/openai/openai.ts';
import { startScriptedUpstream } from '../fakes/model/scripted-upstream.ts';
import { drain } from '../contracts/model/provider.ts';
import { delta, DONE, STOP } from './failures/wire.ts';
import { never, question } from './request.ts';
import { OPENAI_SERVER } from './servers.ts';

/** Asks a server that gives these answers, one after the other. */
async function answersOf(...bodies: readonly (readonly string[])[]) {
  const upstream = await startScriptedUpstream((_body, nth) => ({ body: bodies[nth] ?? [] }));
  const provider = createOpenai({ ...OPENAI_SERVER, baseUrl: upstream.openaiUrl });
  onTestFinished(async () => {
    await provider.close();
    await upstream.close();
  });
  const answers = [];
  for (const _ of bodies) answers.push(await drain(provider.streamChat(question('hi'), never)));
  return answers;
}

it('names an unknown reason for the end once, and takes it for an end', async () => {
  const odd = [delta({ content: 'Hello.' }), delta({}, 'whatever'), DONE];
  const answers = await answersOf(odd, odd);
  const ends = answers.map(({ chunks }): ChatChunk | undefined => chunks.at(-1));
  expect(ends).toMatchObject([{ finishReason: 'stop', unknownReason: 'whatever' }, { finishReason: 'stop' }]);
  expect(ends[1]).not.toHaveProperty('unknownReason');
});

it('takes an answer without an end for a whole one, unless its server is known to mark ends', async () => {
  const open = [delta({ content: 'Hello.' })];
  const answers = await answersOf(open, [...open, ...STOP], open);
  expect(answers.map(({ error }) => error)).toMatchObject([
    undefined,
    undefined,
    { code: 'bad_response', retryable: true },
  ]);
});
