/** What the provider contract expects of a server, as a reply of the fake llama-server. */
import type { ContractReply } from '../../contracts/model/provider-harness.ts';
import type { LlamaFailure, LlamaReply } from '../../fakes/llama-server/reply.ts';

/** The reply in the fake's fields. */
export function toLlamaReply({ tooLong, failure, ...same }: ContractReply): LlamaReply {
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
