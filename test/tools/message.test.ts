/** The tool `message`: what it requests, and what the model learns of it. */
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/protocol/event.ts';
import {
  type FindChat,
  MAX_POST_CHARS,
  MAX_POSTS,
  type PostRequest,
  type PostResult,
} from '../../src/protocol/delivery.ts';
import { createMessage } from '../../src/tools/message.ts';
import { noOtherChats } from '../fakes/agent/find-chat.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

const asked = (result: PostResult, findChat: FindChat = noOtherChats) => {
  const requests: PostRequest[] = [];
  const post = async (request: PostRequest): Promise<PostResult> => {
    requests.push(request);
    return result;
  };
  const tool = createMessage(post, findChat);
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

  it('is not shown a second time when its call is repeated', async () => {
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
    expect(await foreign.tool.execute({ text: 'x', to: 'telegram:9' }, toolContext())).toEqual({
      isError: true,
      content:
        'Not sent: telegram:9 is not a chat of this conversation or of this person. Leave it out to write here.',
    });
    expect(foreign.requests).toEqual([]);
    expect(await foreign.tool.execute({ text: 'x', to: 'discord' }, toolContext())).toEqual({
      isError: true,
      content:
        'Not sent: there is no chat of this person on "discord"; there is telegram:1. They can link one with /link.',
    });
    const command = (name: string) => `!${name}`;
    expect(await foreign.tool.execute({ text: 'x', to: 'discord' }, toolContext({ command }))).toMatchObject({
      content: expect.stringContaining('They can link one with !link.'),
    });
    const gone = asked({ kind: 'foreign' });
    expect(await gone.tool.execute({ text: 'x' }, toolContext())).toMatchObject({
      isError: true,
      content: expect.stringContaining('telegram:1 no longer belongs to this conversation'),
    });
    const child = asked({ kind: 'posted', seq: 1 });
    await expect(child.tool.execute({ text: 'x' }, toolContext({ agentId: 'a' }))).rejects.toThrow(
      'Subagents cannot write to people',
    );
    expect(child.requests).toEqual([]);
  });

  it('sends to the chat found under the name of a network, and says which', async () => {
    const address = 'discord:8';
    const here = asked({ kind: 'posted', seq: 7 }, async ({ session }) => ({
      kind: 'found',
      address,
      session,
    }));
    const events: EventBody[] = [];
    const ctx = toolContext({ emit: (body) => void events.push(body) });
    expect(await here.tool.execute({ text: 'Hi', to: 'discord' }, ctx)).toEqual({
      content: 'Sent to discord:8.',
    });
    expect(here.requests).toEqual([{ ref: 'turn-1.1.0', turnId: 'turn-1', address, content: 'Hi' }]);
    expect(events).toHaveLength(1);
    const there = asked({ kind: 'posted', seq: 7 }, async () => ({
      kind: 'found',
      address,
      session: address,
    }));
    await there.tool.execute({ text: 'Hi', to: 'discord' }, ctx);
    expect(there.requests[0]).toMatchObject({ address, session: address });
    // It is not a message of the watched session.
    expect(events).toHaveLength(1);
    const several = asked({ kind: 'posted', seq: 7 }, async () => ({
      kind: 'several',
      addresses: [address, 'discord:9'],
    }));
    expect(await several.tool.execute({ text: 'Hi', to: 'discord' }, ctx)).toEqual({
      isError: true,
      content: 'Not sent: this person has several chats there: name one of discord:8, discord:9.',
    });
  });

  it('accepts texts up to its limit, but nothing empty', () => {
    const { tool } = asked({ kind: 'known' });
    expect(tool.parameters.safeParse({ text: 'x'.repeat(MAX_POST_CHARS) }).success).toBe(true);
    expect(tool.parameters.safeParse({ text: 'x'.repeat(MAX_POST_CHARS + 1) }).success).toBe(false);
    expect(tool.parameters.safeParse({ text: ' \n ' }).success).toBe(false);
    expect(tool.parameters.safeParse({ text: 'x', to: ' ' }).success).toBe(false);
  });

  it('has an effect outside only when it names another chat', () => {
    const { tool } = asked({ kind: 'known' });
    expect([tool.reach({ text: 'x' }), tool.reach({ text: 'x', to: 'discord' })]).toEqual([
      'session',
      'outside',
    ]);
  });
});
