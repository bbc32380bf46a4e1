/** A model with a script for each task: its answers depend only on the task and on the progress of the work. */
import type {
  ChatChunk,
  ChatRequest,
  ChatProvider,
  ModelCapabilities,
} from '../../../src/protocol/agent/provider.ts';
import { ScriptedProvider, type ScriptStep } from './scripted-provider.ts';

/**
 * Answers by how the last user message begins, and repeats an answer when it is asked again, e.g. after a crash. A
 * script with an empty name applies to every task.
 */
export class ReplayProvider implements ChatProvider {
  readonly name = 'replay';
  readonly requests: ChatRequest[] = [];
  /** Calls open now, and the maximum open at once. */
  active = 0;
  peak = 0;
  readonly #parts: Record<string, readonly ScriptStep[]>;

  constructor(parts: Record<string, readonly ScriptStep[]>) {
    this.#parts = { ...parts };
  }

  /** Gives a task another script. */
  play(task: string, steps: readonly ScriptStep[]): void {
    this.#parts[task] = steps;
  }

  /** The requests about a task, in order. */
  about(task: string): ChatRequest[] {
    return this.requests.filter((request) => taskOf(request).startsWith(task));
  }

  async models(): Promise<string[]> {
    return ['test-model'];
  }

  async capabilities(): Promise<ModelCapabilities> {
    return { contextWindow: 16_384, tools: true, thinking: true, vision: false };
  }

  async *streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatChunk, void> {
    const { onQueued: _, onPlace: _placed, onOmissions: _omissions, ...plain } = request;
    this.requests.push(structuredClone(plain));
    const asked = request.messages.findLastIndex(({ role }) => role === 'user');
    const answered = request.messages.slice(asked).filter(({ role }) => role === 'assistant').length;
    const part = Object.entries(this.#parts).find(([task]) => taskOf(request).startsWith(task))?.[1];
    const step = part?.[answered];
    if (step === undefined) throw new Error(`No answer ${answered + 1} about "${taskOf(request)}".`);
    this.active += 1;
    this.peak = Math.max(this.peak, this.active);
    try {
      yield* new ScriptedProvider(step).streamChat(request, signal);
    } finally {
      this.active -= 1;
    }
  }

  async close(): Promise<void> {}
}

/** A model whose answer depends only on the progress of the turn, whatever it is about. */
export function replaySteps(...steps: ScriptStep[]): ReplayProvider {
  return new ReplayProvider({ '': steps });
}

function taskOf({ messages }: ChatRequest): string {
  return messages.findLast(({ role }) => role === 'user')?.content ?? '';
}
