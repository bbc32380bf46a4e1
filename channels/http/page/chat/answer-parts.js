/** What an answer is made of, in order: texts, thinking, tool calls, subagents, remarks. The same for a turn and for a subagent. */
import { h } from '../dom.js';
import { LiveMarkdown } from '../markdown/view.js';
import { AgentPart } from './agent-part.js';
import { note, ThinkingPart, ToolPart } from './turn-parts.js';

/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */

/** The tool whose call a subagent works for. */
const SPAWNS = 'spawn_agent';

/** The parts of one answer; `element` holds them. */
export class AnswerParts {
  element = h('div', { class: 'answer', 'aria-live': 'off' });
  #onGrow;
  /** Text by model call, in order; a reset takes a call's parts away. @type {Map<string, LiveMarkdown>} */
  #texts = new Map();
  /** Calls seen from their beginning. @type {Set<string>} */
  #calls = new Set();
  /** @type {Map<string, ThinkingPart>} */
  #thoughts = new Map();
  /** @type {Map<string, ToolPart>} */
  #tools = new Map();
  /** @type {Map<string, AgentPart>} */
  #agents = new Map();

  /** @param {() => void} onGrow called when the parts may have become taller */
  constructor(onGrow) {
    this.#onGrow = onGrow;
  }

  /** All text so far. */
  get text() {
    return [...this.#texts.values()].map((part) => part.text).join('');
  }

  /**
   * Takes one event; gives whether something moves now (`quiet`: nothing does until the next event), or undefined for
   * an event that is not about these parts.
   * @param {AgentEvent} event
   * @returns {'moves' | 'quiet' | undefined}
   */
  apply(event) {
    switch (event.type) {
      case 'thinking_started':
        // A call that is made once more thinks anew.
        this.#dropThought(event.msgId);
        this.#thoughtOf(event.msgId, event.title);
        return 'moves';
      case 'thinking_delta':
        this.#thoughtOf(event.msgId).append(event.delta);
        return 'moves';
      case 'thinking_finished':
        this.#thoughtOf(event.msgId).finish();
        return 'moves';
      case 'stream_start':
        this.#calls.add(event.msgId);
        return undefined;
      case 'stream_chunk':
        this.#continueSnapshot(event.msgId);
        this.#textOf(event.msgId).append(event.delta);
        return 'moves';
      case 'stream_reset':
        this.#drop(event.msgId);
        return 'quiet';
      case 'snapshot':
        this.#dropTexts();
        this.#calls.clear();
        if (event.text !== '') this.#textOf('snapshot').set(event.text);
        return undefined;
      case 'tool_call':
        // A turn that goes on after a wait or a crash tells its open call once more.
        if (this.#tools.get(event.toolCallId)?.waits !== true)
          this.#add(new ToolPart(event.name, event.args), event.toolCallId);
        return 'moves';
      case 'tool_result':
        this.#tools.get(event.toolCallId)?.finish(event.result, event.isError);
        return 'quiet';
      default:
        return undefined;
    }
  }

  /**
   * Takes an event of a subagent: its steps stand folded under the call that made it.
   * @param {AgentEvent} event
   */
  applyNested(event) {
    const id = String(event.agentId);
    if (event.type === 'subagent_spawned' && !this.#agents.has(id)) {
      const agent = new AgentPart(event.profileId, event.task, new AnswerParts(this.#onGrow));
      this.#agents.set(id, agent);
      const call = [...this.#tools.values()].findLast((tool) => tool.awaits(SPAWNS, event.task));
      if (call === undefined) this.element.append(agent.element);
      else call.adopt(agent.element);
    }
    this.#agents.get(id)?.apply(event);
  }

  /**
   * A remark of the gateway.
   * @param {string} text
   */
  remark(text) {
    this.element.append(note(text));
  }

  /**
   * The text as it is stored; what the events said before gives way where it differs.
   * @param {string} content
   * @param {boolean} isError
   */
  settle(content, isError) {
    if (this.text !== content) {
      this.#dropTexts();
      this.#textOf('stored').set(content);
    }
    // What went wrong is the last thing said; what came before it stays an answer.
    const last = [...this.#texts.values()].at(-1);
    last?.element.classList.toggle('turn-error', isError);
  }

  /** Nothing of this moves any more. */
  end() {
    for (const thought of this.#thoughts.values())
      if (thought.element.classList.contains('running')) thought.finish();
    for (const tool of this.#tools.values()) tool.abandon();
  }

  /**
   * @param {ToolPart} tool
   * @param {string} id
   */
  #add(tool, id) {
    this.#tools.set(id, tool);
    this.element.append(tool.element);
  }

  /**
   * @param {string} msgId
   * @param {string} [title]
   */
  #thoughtOf(msgId, title) {
    const known = this.#thoughts.get(msgId);
    if (known !== undefined) return known;
    const thought = new ThinkingPart(title);
    this.#thoughts.set(msgId, thought);
    this.element.append(thought.element);
    return thought;
  }

  /** @param {string} msgId */
  #textOf(msgId) {
    const known = this.#texts.get(msgId);
    if (known !== undefined) return known;
    const text = new LiveMarkdown(this.#onGrow);
    this.#texts.set(msgId, text);
    this.element.append(text.element);
    return text;
  }

  /**
   * A call whose beginning stands in the snapshot goes on there: its text is one, and so is its Markdown.
   * @param {string} msgId
   */
  #continueSnapshot(msgId) {
    const snapshot = this.#texts.get('snapshot');
    if (snapshot === undefined || this.#texts.size > 1 || this.#calls.has(msgId)) return;
    this.#texts.delete('snapshot');
    this.#texts.set(msgId, snapshot);
  }

  /** @param {string} msgId */
  #drop(msgId) {
    this.#texts.get(msgId)?.element.remove();
    this.#texts.delete(msgId);
    this.#dropThought(msgId);
  }

  /** @param {string} msgId */
  #dropThought(msgId) {
    this.#thoughts.get(msgId)?.element.remove();
    this.#thoughts.delete(msgId);
  }

  #dropTexts() {
    for (const text of this.#texts.values()) text.element.remove();
    this.#texts.clear();
  }
}
