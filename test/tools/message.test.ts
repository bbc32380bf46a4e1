/** The tool `message`: what it asks for, and what the model hears of it. */
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/contracts/event.ts';
import { MAX_POST_CHARS, MAX_POSTS } from '../../src/contracts/delivery.ts';
import type { PostRequest, PostResult } from '../../src/contracts/delivery.ts';
import { createMessage } from '../../src/tools/message.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

const asked = (result: PostResult) => {
  const requests: PostRequest[] = [];
  const tool = createMessage(async (request) => {
    requests.push(request);
    return result;
  });
  return { tool, requests };
};

describe('the tool message', () => {
  it('sends under the key of its call to where the turn answers, and shows it (B-23)', async () => {
    const { tool, requests } = asked({ kind: 'posted', seq: 7 });
    const events: EventBody[] = [];
    const ctx = toolContext({ emit: (body) => void events.push(body) });
    expect(await tool.execute({ text: 'Hello' }, ctx)).toEqual({ content: 'Sent.' });
    expect(requests).toEqual([
      { ref: 'turn-1.1.0', turnId: 'turn-1', address: 'telegram:1', content: 'Hello' },
    ]);
    expect(events).toEqual([{ type: 'message_sent', seq: 7, content: 'Hello' }]);
  });

  it('is not seen a second time when its call is repeated', async () => {
    const { tool } = asked({ kind: 'known' });
    const events: EventBody[] = [];
    const ctx = toolContext({ emit: (body) => void events.push(body) });
    expect(await tool.execute({ text: 'Hello' }, ctx)).toEqual({ content: 'Sent.' });
    expect(events).toEqual([]);
  });

  it("says why it sent nothing: too many, an address that is not the conversation's, a subagent", async () => {
    const full = asked({ kind: 'full', limit: MAX_POSTS });
    expect(await full.tool.execute({ text: 'x' }, toolContext())).toMatchObject({
      isError: true,
      content: expect.stringContaining(`at most ${MAX_POSTS} messages`),
    });
    const foreign = asked({ kind: 'foreign' });
    expect(await foreign.tool.execute({ text: 'x', address: 'telegram:9' }, toolContext())).toMatchObject({
      isError: true,
      content: expect.stringContaining('telegram:9 is not an address of this conversation'),
    });
    const child = asked({ kind: 'posted', seq: 1 });
    await expect(child.tool.execute({ text: 'x' }, toolContext({ agentId: 'a' }))).rejects.toThrow(
      'subagent',
    );
    expect(child.requests).toEqual([]);
  });

  it('takes texts up to its length, and nothing empty', () => {
    const { tool } = asked({ kind: 'known' });
    expect(tool.parameters.safeParse({ text: 'x'.repeat(MAX_POST_CHARS) }).success).toBe(true);
    expect(tool.parameters.safeParse({ text: 'x'.repeat(MAX_POST_CHARS + 1) }).success).toBe(false);
    expect(tool.parameters.safeParse({ text: ' \n ' }).success).toBe(false);
    expect(tool.parameters.safeParse({ text: 'x', address: 'nowhere' }).success).toBe(false);
  });

  it('is felt outside only where it names another address', () => {
    const { tool } = asked({ kind: 'known' });
    expect([tool.reach({ text: 'x' }), tool.reach({ text: 'x', address: 'discord:1' })]).toEqual([
      'session',
      'outside',
    ]);
  });
});
