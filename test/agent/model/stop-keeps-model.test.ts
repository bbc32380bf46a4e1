/** A stopped turn against an Ollama behind a socket: the call is closed, and the model stays loaded for the next turn. */
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { createOllama } from '../../../src/providers/ollama/ollama.ts';
import { describeStore } from '../../database.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OLLAMA_SERVER } from '../../providers/servers.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

const loadedModels = z.object({ models: z.array(z.object({ name: z.string() })) });

describeStore('a stop in the middle of an answer', (databases) => {
  it('closes the call and keeps the model loaded: /api/ps still lists it, and nothing asks to unload it (N-64)', async () => {
    const fake = await startFakeOllama();
    onTestFinished(() => fake.close());
    fake.answer({ text: ['Once ', 'upon'], failure: { kind: 'hang', after: 1 } });
    const provider = createOllama({ ...OLLAMA_SERVER, baseUrl: fake.url });
    const scenario = await openScenario(databases, { provider, model: 'fake:latest' });
    const { head, turnId } = await scenario.say('Tell me a story');
    const stop = new AbortController();
    scenario.onEvent = (event) => {
      if (event.type === 'stream_chunk') stop.abort(new LaneAbort('stopped'));
    };
    await scenario.run(head, stop.signal);
    expect((await scenario.store.ledger.turn(turnId))?.reason).toBe('stopped');
    const call = await fake.nextCall();
    expect((await call.closed).by).toBe('client');
    const listed = loadedModels.parse(await (await fetch(`${fake.url}/api/ps`)).json());
    expect(listed.models).toMatchObject([{ name: 'fake:latest' }]);
    expect(fake.calls.filter(({ body }) => body.keep_alive !== undefined)).toEqual([]);
    expect(fake.loads).toHaveLength(1);
  });
});
