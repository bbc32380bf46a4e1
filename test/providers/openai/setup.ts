/** A fake llama-server and a provider for it, closed together after the test. */
import { createProviders } from '../../../src/providers/index.ts';
import type { OpenaiOptions } from '../../../src/providers/openai/openai.ts';
import type { LLMProvider } from '../../../src/contracts/provider.ts';
import { startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import type { FakeLlama, FakeLlamaOptions } from '../../fakes/llama-server/llama-server.ts';

/** Makes pairs and single providers, and closes whatever it made. */
export function createLlamaPairs() {
  const open: { close(): Promise<void> }[] = [];
  const providerAt = (options: OpenaiOptions): LLMProvider => {
    const openai = createProviders({ ollama: { host: '' }, openai: options }).get('openai');
    if (openai === undefined) throw new Error('the list has no openai');
    open.push(openai);
    return openai;
  };
  return {
    providerAt,
    async start(
      options: Partial<OpenaiOptions> = {},
      server: FakeLlamaOptions = {},
    ): Promise<{ fake: FakeLlama; openai: LLMProvider }> {
      const fake = await startFakeLlama(server);
      open.unshift(fake);
      return { fake, openai: providerAt({ baseUrl: fake.url, ...options }) };
    },
    async closeAll(): Promise<void> {
      for (const thing of open.splice(0).toReversed()) await thing.close();
    },
  };
}
