/** Puts a fake server and the providers created for it under the contract of all providers. */
import type { LLMProvider } from '../../src/protocol/agent/provider.ts';
import type { ProviderHarness } from '../contracts/model/provider-harness.ts';

/** The harness of a fake server with the model `fake`; `make` creates a provider for a URL, `answer` formats a reply. */
export function harnessOf(
  fake: Pick<ProviderHarness, 'nextCall' | 'close'> & { url: string },
  make: (url: string) => LLMProvider,
  answer: ProviderHarness['answer'],
): ProviderHarness {
  const made: LLMProvider[] = [];
  const providerAt = (url: string): LLMProvider => {
    const provider = make(url);
    made.push(provider);
    return provider;
  };
  return {
    provider: providerAt(fake.url),
    model: 'fake',
    answer,
    nextCall: () => fake.nextCall(),
    providerAt,
    async close() {
      for (const provider of made) await provider.close();
      await fake.close();
    },
  };
}
