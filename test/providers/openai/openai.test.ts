/** The provider contract over any OpenAI-compatible server, against a llama-server that behaves like the real one. */
import { createOpenai } from '../../../src/providers/openai/openai.ts';
import { providerContract } from '../../contracts/model/provider.ts';
import { startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import { harnessOf } from '../harness.ts';
import { OPENAI_SERVER } from '../servers.ts';
import { toLlamaReply } from './contract-reply.ts';

providerContract('openai', async () => {
  const fake = await startFakeLlama({ window: 2_048 });
  const providerAt = (baseUrl: string) => createOpenai({ ...OPENAI_SERVER, baseUrl });
  return harnessOf(fake, providerAt, (reply) => fake.answer(toLlamaReply(reply)));
});
