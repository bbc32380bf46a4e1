/** The provider contract for the Ollama provider, over the fake's real socket. */
import { createOllama } from '../../../src/providers/ollama/ollama.ts';
import { providerContract } from '../../contracts/model/provider.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { toReply } from './setup.ts';
import { harnessOf } from '../harness.ts';
import { OLLAMA_SERVER } from '../servers.ts';

providerContract('ollama', async () => {
  const fake = await startFakeOllama();
  const providerAt = (baseUrl: string) => createOllama({ ...OLLAMA_SERVER, baseUrl });
  return harnessOf(fake, providerAt, (reply) => fake.answer(toReply(reply)));
});
