/** That the Ollama provider keeps the contract of all providers over the fake's real socket. */
import { createProviders } from '../../src/providers/index.ts';
import type { LLMProvider } from '../../src/provider.ts';
import { providerContract } from '../contracts/provider.ts';
import { startFakeOllama } from '../fakes/ollama.ts';
import { toReply } from './ollama-setup.ts';

providerContract('ollama', async () => {
  const fake = await startFakeOllama();
  const made: LLMProvider[] = [];
  const providerAt = (host: string): LLMProvider => {
    const provider = createProviders({ ollama: { host } }).get('ollama');
    if (provider === undefined) throw new Error('the list has no ollama');
    made.push(provider);
    return provider;
  };
  return {
    provider: providerAt(fake.url),
    model: 'fake',
    answer: (reply) => fake.answer(toReply(reply)),
    nextCall: () => fake.nextCall(),
    providerAt,
    async close() {
      for (const provider of made) await provider.close();
      await fake.close();
    },
  };
});
