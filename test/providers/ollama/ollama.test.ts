/** That the Ollama provider keeps the contract of all providers over the fake's real socket. */
import { createProviders } from '../../../src/providers/index.ts';
import type { LLMProvider } from '../../../src/contracts/provider.ts';
import { providerContract } from '../../contracts/provider.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { toReply } from './setup.ts';
import { harnessOf } from '../harness.ts';

providerContract('ollama', async () => {
  const fake = await startFakeOllama();
  return harnessOf(fake, providerAt, (reply) => fake.answer(toReply(reply)));
});

function providerAt(host: string): LLMProvider {
  const provider = createProviders({ ollama: { host } }).get('ollama');
  if (provider === undefined) throw new Error('the list has no ollama');
  return provider;
}
