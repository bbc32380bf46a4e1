/** A model whose answer depends only on how far the turn is: asked again after a crash, it says the same again. */
import type {
  ChatChunk,
  ChatRequest,
  LLMProvider,
  ModelCapabilities,
} from '../../../src/contracts/provider.ts';
import { ScriptedProvider } from './scripted-provider.ts';
import type { ScriptStep } from './scripted-provider.ts';

export class ReplayModel implements LLMProvider {
  readonly name = 'replay';
  readonly requests: ChatRequest[] = [];
  readonly #steps: readonly ScriptStep[];

  constructor(...steps: ScriptStep[]) {
    this.#steps = steps;
  }

  async models(): Promise<string[]> {
    return ['test-model'];
  }

  async capabilities(): Promise<ModelCapabilities> {
    return { contextWindow: 16_384, tools: true, thinking: true, vision: false };
  }

  streamChat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatChunk> {
    this.requests.push(request);
    const asked = request.messages.findLastIndex(({ role }) => role === 'user');
    const answered = request.messages.slice(asked).filter(({ role }) => role === 'assistant').length;
    const step = this.#steps[answered];
    if (step === undefined) throw new Error(`The model has no answer ${answered + 1}.`);
    return new ScriptedProvider(step).streamChat(request, signal);
  }

  async close(): Promise<void> {}
}
