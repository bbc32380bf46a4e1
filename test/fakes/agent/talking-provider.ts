/** A model that answers every call, by what the call asks for. */
import type {
  ChatChunk,
  ChatProvider,
  ChatRequest,
  ModelCapabilities,
} from '../../../src/protocol/agent/provider.ts';

export class TalkingProvider implements ChatProvider {
  readonly name = 'talking';
  /** Every request as received. */
  readonly requests: ChatRequest[] = [];
  can: ModelCapabilities;
  readonly #answer: (request: ChatRequest) => string;

  constructor(contextWindow: number, answer: (request: ChatRequest) => string) {
    this.can = { contextWindow, tools: true, thinking: false, vision: false };
    this.#answer = answer;
  }

  models = async (): Promise<string[]> => ['test-model'];
  capabilities = async (): Promise<ModelCapabilities> => this.can;

  /** Reports no usage, so that estimates stay uncorrected. */
  async *streamChat(request: ChatRequest): AsyncGenerator<ChatChunk, void> {
    const { onQueued: _, onPlace: _place, onOmissions: _omissions, ...plain } = request;
    this.requests.push(structuredClone(plain));
    yield { type: 'text', delta: this.#answer(plain) };
    yield {
      type: 'done',
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
    };
  }

  async close(): Promise<void> {}
}
