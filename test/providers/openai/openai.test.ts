/** The provider contract over any OpenAI-compatible server, against a llama-server that behaves like the real one. */
import { createOpenai } from '../../../src/providers/openai/openai.ts';
import { providerContract } from '../../contracts/provider.ts';
import type { ContractReply } from '../../contracts/provider.ts';
import { startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import type { LlamaFailure, LlamaReply } from '../../fakes/llama-server/reply.ts';
import { harnessOf } from '../harness.ts';
import { OPENAI_SERVER } from '../servers.ts';

providerContract('openai', async () => {
  const fake = await startFakeLlama({ window: 2_048 });
  const providerAt = (baseUrl: string) => createOpenai({ ...OPENAI_SERVER, baseUrl });
  return harnessOf(fake, providerAt, (reply) => fake.answer(toReply(reply)));
});

function toReply({ tooLong, failure, ...same }: ContractReply): LlamaReply {
  return {
    ...same,
    ...(tooLong === true && { cutBy: same.text?.length ?? 0 }),
    ...(failure && { failure: toFailure(failure) }),
  };
}

function toFailure(failure: NonNullable<ContractReply['failure']>): LlamaFailure {
  if (failure.kind === 'bytes') return failure;
  const { kind, after } = failure;
  if (kind !== 'error') return { kind, after };
  return { kind, after, error: { code: 500, message: 'the slot failed', type: 'server_error' } };
}
