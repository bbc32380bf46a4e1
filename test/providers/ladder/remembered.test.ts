/** What helped against a refusal is remembered, by model for a while, and by picture. */
import { afterEach, describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { FIRST_OMISSION_MS } from '../../../src/providers/discovery.ts';
import type { ServerRule, StrictRefusal } from '../../fakes/model/strict-server.ts';
import { never, question } from '../request.ts';
import { closeAll, image, picturesIn, refuse, setup, TOOLS, toolsIn } from './setup.ts';

afterEach(closeAll);

describe('what helped against a refusal', () => {
  it('is tried first when it is refused again, and is left out twice as long', async () => {
    const clock = { now: 0 };
    const rule = refuse((body) => body['tools'] !== undefined);
    const { ask, provider } = await setup({ rules: [rule], now: () => clock.now });
    const request = question('hi', { tools: TOOLS });
    await ask(request);
    expect(await provider.capabilities('fake', never)).toMatchObject({ tools: false, omissions: ['tools'] });
    clock.now = FIRST_OMISSION_MS;
    expect(await provider.capabilities('fake', never)).toMatchObject({ tools: true });
    expect(await ask(request)).toMatchObject({ omitted: ['tools'], calls: 2 });
    clock.now += FIRST_OMISSION_MS * 2 - 1;
    expect(await ask(request)).toMatchObject({ calls: 1 });
    clock.now += 1;
    expect(await ask(request)).toMatchObject({ calls: 2 });
  });

  it('is sent again after a minute once the server takes it', async () => {
    const clock = { now: 0 };
    let refusing = true;
    const rule = refuse((body) => refusing && body['tools'] !== undefined);
    const { ask, server } = await setup({ rules: [rule], now: () => clock.now });
    const request = question('hi', { tools: TOOLS });
    await ask(request);
    refusing = false;
    clock.now = FIRST_OMISSION_MS;
    expect(await ask(request)).toEqual({ text: 'Hello.', omitted: [], calls: 1 });
    expect(toolsIn(server.calls.at(-1)!)).toHaveLength(3);
  });

  it('is not remembered when the repetition failed as well', async () => {
    let refusals = 0;
    const words = 'No endpoints found that support tool use.';
    const rule: ServerRule = () => {
      refusals += 1;
      const refusal: StrictRefusal = { status: 404, body: { error: { message: words, code: 404 } } };
      return refusals <= 30 ? refusal : undefined;
    };
    const { ask, provider, server } = await setup({ rules: [rule] });
    const request = question('hi', { tools: TOOLS });
    await expect(ask(request)).rejects.toMatchObject({ code: 'bad_request' });
    refusals = 30;
    expect(await ask(request)).toEqual({ text: 'Hello.', omitted: [], calls: 1 });
    expect(toolsIn(server.calls.at(-1)!)).toHaveLength(3);
    expect(await provider.capabilities('fake', never)).not.toHaveProperty('omissions');
  });
});

describe('a picture that a server cannot read', () => {
  // llama-server (cline/cline#8203).
  const words = 'Failed to load image or audio file';
  const unreadable = refuse((body) => picturesIn(body).includes('base64,BAD'), words);
  const withPictures = (...pictures: string[]): ChatRequest => ({
    ...question('hi'),
    messages: pictures
      .flatMap((name): ChatMessage[] => [
        { role: 'user', content: `see ${name}`, images: [image(name)] },
        { role: 'assistant', content: 'Yes.' },
      ])
      .concat([{ role: 'user', content: 'and a plain question' }]),
  });

  it('is left out from then on, and other pictures are still shown', async () => {
    const { ask, server, provider } = await setup({ rules: [unreadable] });
    expect(await ask(withPictures('BAD'))).toMatchObject({ text: 'Hello.', calls: 2 });
    expect(await ask(withPictures('BAD'))).toMatchObject({ text: 'Hello.', calls: 1 });
    expect((await ask(withPictures('BAD', 'GOOD'))).calls).toBe(1);
    const last = JSON.stringify(server.calls.at(-1)?.messages);
    expect(last).toContain('base64,GOOD');
    expect(last).toContain('[With this message came a picture that could not be read.');
    expect(await provider.capabilities('fake', never)).toMatchObject({ vision: true });
  });
});
