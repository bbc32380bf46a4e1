/** What an editor shows of the events of a session. */
import type {
  ContentBlock,
  Plan as EditorPlan,
  PlanEntryStatus,
  SessionUpdate,
  StopReason,
  ToolKind,
} from '@agentclientprotocol/sdk';
import type { AgentEvent, TurnEndReason } from '../../protocol/event.ts';
import type { Plan, PlanStep } from '../../protocol/isomorphic/plan-types.ts';

const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_dir: 'read',
  write_file: 'edit',
  edit_file: 'edit',
  exec: 'execute',
  web_search: 'search',
  web_fetch: 'fetch',
  plan: 'think',
  scratchpad: 'think',
};

/** The nearest of the kinds that editors know. */
export function kindOf(tool: string): ToolKind {
  return KINDS[tool] ?? 'other';
}

const STOPS: Readonly<Record<TurnEndReason, StopReason>> = {
  completed: 'end_turn',
  cut_off: 'max_tokens',
  filtered: 'refusal',
  stopped: 'cancelled',
  max_iterations: 'max_turn_requests',
  // The reason why there is no answer is the text of the turn.
  failed: 'end_turn',
  interrupted: 'end_turn',
};

/** Why a prompt has ended. */
export function stopReasonOf(reason: TurnEndReason): StopReason {
  return STOPS[reason];
}

const STEPS: Readonly<Record<PlanStep['status'], PlanEntryStatus>> = {
  pending: 'pending',
  running: 'in_progress',
  done: 'completed',
  failed: 'completed',
  skipped: 'completed',
};

/** The plan with this step as it is now. */
export function withStep(plan: Plan, step: PlanStep): Plan {
  return { ...plan, steps: plan.steps.map((one) => (one.id === step.id ? step : one)) };
}

/** A plan as editors list it. */
export function planUpdate({ steps }: Plan): SessionUpdate {
  const entries: EditorPlan['entries'] = steps.map(({ description, status }) => ({
    content: description,
    priority: 'medium',
    status: STEPS[status],
  }));
  return { sessionUpdate: 'plan', entries };
}

/** A piece of a message, in the editor's form; pieces with one id belong together. */
export function chunk(
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk',
  text: string,
  messageId: string,
): SessionUpdate {
  return { sessionUpdate, content: { type: 'text', text }, messageId };
}

/** The update for an event that needs no others; undefined for one that editors do not show. */
export function updateOf(event: AgentEvent): SessionUpdate | undefined {
  switch (event.type) {
    case 'thinking_delta':
      return chunk('agent_thought_chunk', event.delta, `${event.msgId}-thought`);
    case 'tool_call': {
      const { toolCallId, name, args } = event;
      return {
        sessionUpdate: 'tool_call',
        toolCallId,
        title: name,
        name,
        kind: kindOf(name),
        status: 'in_progress',
        rawInput: args,
      };
    }
    case 'tool_progress':
      return {
        sessionUpdate: 'tool_call_update',
        toolCallId: event.toolCallId,
        content: [{ type: 'content', content: { type: 'text', text: event.text } }],
      };
    case 'tool_result': {
      const { toolCallId, result, isError } = event;
      const status = isError ? 'failed' : 'completed';
      const content = [{ type: 'content' as const, content: { type: 'text' as const, text: result } }];
      return { sessionUpdate: 'tool_call_update', toolCallId, status, content };
    }
    case 'message_sent':
      return chunk('agent_message_chunk', event.content, `${event.seq}`);
    case 'notice':
      return chunk('agent_thought_chunk', event.text, `notice-${event.at}`);
    case 'session_titled':
      return { sessionUpdate: 'session_info_update', title: event.title };
    default:
      return undefined;
  }
}

/** The text of a prompt: what it embeds follows what is written, what it only names stays a name. */
export function textOfPrompt(blocks: readonly ContentBlock[]): string {
  const texts = blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type === 'resource_link') return [`${block.name}: ${block.uri}`];
    if (block.type === 'resource' && 'text' in block.resource)
      return [`${block.resource.uri}:\n\`\`\`\n${block.resource.text}\n\`\`\``];
    return [];
  });
  return texts.join('\n\n');
}

/**
 * The text of one answer as the editor shows it. A call of the model that is repeated, after a crash for example, continues
 * what is shown as long as it says the same; else the whole text follows as another message. Never throws.
 */
export class AnswerText {
  readonly #turnId: string;
  #calls: { id: string; text: string }[] = [];
  #shown = '';
  #messages = 0;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  /** Takes an event of the turn; returns what is to be shown now. */
  add(event: AgentEvent): SessionUpdate | undefined {
    switch (event.type) {
      case 'stream_chunk':
        this.#callOf(event.msgId).text += event.delta;
        return this.#next();
      case 'stream_reset':
        this.#callOf(event.msgId).text = '';
        return undefined;
      case 'snapshot':
        return this.#replace(event.text);
      default:
        return undefined;
    }
  }

  /** Takes the stored text of the answer, which the last message then says exactly. */
  finish(text: string): SessionUpdate | undefined {
    const update = this.#replace(text);
    return text === this.#shown || text === '' ? update : this.#begin(text);
  }

  #replace(text: string): SessionUpdate | undefined {
    this.#calls = [{ id: '', text }];
    return this.#next();
  }

  #callOf(id: string): { text: string } {
    const existing = this.#calls.find((call) => call.id === id);
    if (existing !== undefined) return existing;
    const added = { id, text: '' };
    this.#calls.push(added);
    return added;
  }

  #next(): SessionUpdate | undefined {
    const text = this.#calls.map((call) => call.text).join('');
    if (this.#shown.startsWith(text)) return undefined;
    if (!text.startsWith(this.#shown)) return this.#begin(text);
    const fresh = text.slice(this.#shown.length);
    this.#shown = text;
    return chunk('agent_message_chunk', fresh, this.#messageId());
  }

  /** Shows the text as another message. */
  #begin(text: string): SessionUpdate {
    this.#messages += 1;
    this.#shown = text;
    return chunk('agent_message_chunk', text, this.#messageId());
  }

  #messageId(): string {
    return `${this.#turnId}-${this.#messages}`;
  }
}
