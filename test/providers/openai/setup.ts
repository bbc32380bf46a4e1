/** A fake llama-server and a provider for it, closed together after the test. */
import { createOpenai, type OpenaiOptions } from '../../../src/providers/openai/openai.ts';
import type { LLMProvider } from '../../../src/protocol/agent/provider.ts';
import {
  type FakeLlama,
  type FakeLlamaOptions,
  startFakeLlama,
} from '../../fakes/llama-server/llama-server.ts';
import { OPENAI_SERVER } from '../servers.ts';

/** Creates pairs and single providers, and closes everything it created. */
export function createLlamaPairs() {
  const open: { close(): Promise<void> }[] = [];
  const providerAt = (options: Partial<OpenaiOptions> & { baseUrl: string }): LLMProvider => {
    const openai = createOpenai({ ...OPENAI_SERVER, ...options });
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
