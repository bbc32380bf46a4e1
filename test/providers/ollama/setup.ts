/** A fake Ollama and a provider for it, closed together after the test. */
import type { ServerOptions } from '../../../src/providers/kind.ts';
import { createOllama } from '../../../src/providers/ollama/ollama.ts';
import type { LLMProvider } from '../../../src/protocol/agent/provider.ts';
import {
  type Failure,
  type FakeOllama,
  type FakeOllamaOptions,
  type Reply,
  startFakeOllama,
} from '../../fakes/ollama/ollama.ts';
import type { ContractReply } from '../../contracts/model/provider-harness.ts';
import { OLLAMA_SERVER } from '../servers.ts';

export interface Pair {
  fake: FakeOllama;
  ollama: LLMProvider;
}

/** Creates pairs and single providers, and closes everything it created. */
export function createPairs() {
  const open: { close(): Promise<void> }[] = [];
  const providerAt = (options: Partial<ServerOptions> & { baseUrl: string }): LLMProvider => {
    const ollama = createOllama({ ...OLLAMA_SERVER, ...options });
    open.push(ollama);
    return ollama;
  };
  return {
    providerAt,
    async start(options: Partial<ServerOptions> = {}, server: FakeOllamaOptions = {}): Promise<Pair> {
      const fake = await startFakeOllama(server);
      open.unshift(fake);
      return { fake, ollama: providerAt({ baseUrl: fake.url, ...options }) };
    },
    async closeAll(): Promise<void> {
      for (const thing of open.splice(0).toReversed()) await thing.close();
    },
  };
}

/** A contract reply in Ollama's format. */
export function toReply({ tooLong, failure, ...same }: ContractReply): Reply {
  return {
    ...same,
    ...(tooLong === true && { doneReason: 'length' }),
    ...(failure && { failure: toFailure(failure) }),
  };
}

function toFailure(failure: NonNullable<ContractReply['failure']>): Failure {
  if (failure.kind === 'bytes') return failure;
  const { after } = failure;
  if (failure.kind === 'error')
    return { kind: 'error_line', after, error: 'llama runner process has terminated' };
  return { kind: failure.kind === 'no_end' ? 'no_done' : failure.kind, after };
}
