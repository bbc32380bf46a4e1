/** What the provider contract needs from a provider's test: the provider with a fake server, and control of the fake. */
import type { LLMProvider } from '../../../src/protocol/agent/provider.ts';

/** What the server does next, independent of any server's format. */
export interface ContractReply {
  text?: readonly string[];
  thinking?: readonly string[];
  toolCalls?: readonly { name: string; args: unknown }[];
  /** Silence, not even headers, until `release()`. */
  hold?: boolean;
  /** The answer was cut by the token limit. */
  tooLong?: boolean;
  /** Fields that no client knows. */
  extra?: Record<string, unknown>;
  /** Cuts the stream into packets. */
  packets?: (wire: Buffer) => Buffer[];
  /** What goes wrong after that many pieces: a mid-stream error, a dead connection, a missing end, silence, garbage bytes. */
  failure?:
    | { kind: 'error' | 'cut' | 'no_end' | 'hang'; after: number }
    | { kind: 'bytes'; after: number; bytes: Uint8Array };
}

export interface ContractCall {
  release(): void;
  readonly closed: Promise<{ by: 'client' | 'server'; at: number }>;
}

export interface ProviderHarness {
  /** A provider for the server, with room for at least 32 concurrent calls. */
  readonly provider: LLMProvider;
  /** A model on the server that can use tools and think. */
  readonly model: string;
  answer(reply: ContractReply): void;
  nextCall(): Promise<ContractCall>;
  /** A provider of the same kind for whatever listens at that URL; the harness closes it. */
  providerAt(url: string): LLMProvider;
  close(): Promise<void>;
}
