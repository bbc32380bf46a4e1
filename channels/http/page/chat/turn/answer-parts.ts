/**
 * The parts of an answer in order: texts, thinking, tool calls, subagents, notes. The same for a turn and a subagent.
 */
import type { EventBody } from '../../../../../src/protocol/event.ts';
import { h } from '../../dom.ts';
import { LiveMarkdown } from '../../markdown/view.ts';
import { AgentPart } from './agent-part.ts';
import { note, ThinkingPart, ToolPart } from './turn-parts.ts';

/** Events whose outcome is part of the stored answer. */
const STORED = /^(stream_|thinking_|tool_|snapshot$)/;

/** The tool that starts subagents. */
const SPAWN_TOOL = 'spawn_agent';

/** The parts of one answer; `element` holds them. */
export class AnswerParts {
  /** The events that are applied now happened earlier. */
  isRestoring = false;
  /** The stored text came before some of its events: thinking and tool calls may be missing. */
  missesParts = false;
  /** All of the text was set. */
  #isStored = false;
  element = h('div', { class: 'answer', 'aria-live': 'off' });
  #onDraw;
  /** Text by model call, in order; a reset removes the parts of a call. */
  #texts: Map<string, LiveMarkdown> = new Map();
  /** Model calls whose start was seen. */
  #calls: Set<string> = new Set();
  /** Model calls whose whole text was loaded: their events may still arrive. */
  #loaded: Set<string> = new Set();
  #thinking: Map<string, ThinkingPart> = new Map();
  #tools: Map<string, ToolPart> = new Map();
  #agents: Map<string, AgentPart> = new Map();

  /** @param onDraw called after a text was drawn */
  constructor(onDraw: () => void) {
    this.#onDraw = onDraw;
  }

  /** True while nothing is shown. */
  get isEmpty() {
    return this.element.childElementCount === 0;
  }

  /** Removes every part. */
  clear() {
    this.element.replaceChildren();
    this.#isStored = this.missesParts = false;
    for (const parts of [this.#texts, this.#thinking, this.#tools, this.#agents, this.#calls, this.#loaded])
      parts.clear();
  }

  /** All text so far. */
  get text() {
    return [...this.#texts.values()].map((part) => part.text).join('');
  }

  /**
   * Applies one event. Returns whether the parts show activity now (`idle`: not before the next event), or undefined for
   * an event that does not concern them.
   */
  apply(event: EventBody): 'active' | 'idle' | undefined {
    if (this.#isStored && STORED.test(event.type)) {
      // It came late: what was loaded was ahead of it.
      this.missesParts = true;
      return undefined;
    }
    switch (event.type) {
      case 'turn_started':
        if (this.#isStored) this.clear();
        return undefined;
      case 'thinking_started':
        // A repeated call starts its thinking over.
        this.#dropThinking(event.msgId);
        this.#thinkingOf(event.msgId, event.title);
        return 'active';
      case 'thinking_delta':
        this.#thinkingOf(event.msgId).append(event.delta);
        return 'active';
      case 'thinking_finished':
        this.#thinkingOf(event.msgId).finish(!this.isRestoring);
        return 'active';
      case 'stream_start':
        this.#calls.add(event.msgId);
        return undefined;
      case 'stream_chunk':
        return this.#addChunk(event.msgId, event.delta);
      case 'stream_reset':
        this.#loaded.delete(event.msgId);
        this.#drop(event.msgId);
        return 'idle';
      case 'snapshot':
        this.#loaded.clear();
        this.#dropTexts();
        this.#calls.clear();
        if (event.text !== '') this.#textOf('snapshot').append(event.text);
        return undefined;
      case 'tool_call':
        this.#finishTexts();
        // A turn that resumes after a wait or a crash emits its open call again.
        if (this.#tools.get(event.toolCallId)?.isRunning !== true)
          this.#add(new ToolPart(event.name, event.args), event.toolCallId);
        return 'active';
      case 'tool_progress':
        this.#tools.get(event.toolCallId)?.setProgress(event.text);
        return 'active';
      case 'tool_result':
        this.#tools.get(event.toolCallId)?.finish(event.result, event.isError);
        return 'idle';
      case 'approval_needed':
        this.#tools.get(event.toolCallId ?? '')?.markWaiting();
        return 'active';
      case 'approval_decided':
        this.#tools.get(event.toolCallId ?? '')?.setDecision(event);
        return undefined;
      default:
        return undefined;
    }
  }

  #addChunk(msgId: string, delta: string) {
    if (this.isRestoring) this.#loaded.add(msgId);
    else if (this.#loaded.has(msgId)) return undefined;
    this.#continueSnapshot(msgId);
    this.#textOf(msgId).append(delta);
    return 'active';
  }

  /**
   * Applies an event of a subagent, which is shown under the call that started it.
   * @param id the subagent's
   */
  applyNested(event: EventBody, id: string) {
    if (event.type === 'subagent_spawned' && !this.#agents.has(id)) {
      const agent = new AgentPart(event.profileId, event.task, new AnswerParts(this.#onDraw));
      this.#agents.set(id, agent);
      const call = [...this.#tools.values()].findLast((tool) => tool.isWaitingFor(SPAWN_TOOL, event.task));
      if (call === undefined) this.element.append(agent.element);
      else call.attach(agent.element);
    }
    this.#agents.get(id)?.apply(event);
  }

  /** Adds a note of the gateway. */
  addNote(text: string) {
    const element = note(text);
    this.element.append(element);
    return element;
  }

  /** Sets the stored text, which replaces that of the events where the two differ. */
  setStored(content: string, isError: boolean) {
    const { text } = this;
    this.#isStored = true;
    if (text !== '' && text !== content && content.startsWith(text)) {
      // The end of the answer has no events: it is the gateway's own closing text.
      this.#textOf('end').set(content.slice(text.length));
    } else if (text !== content) {
      this.#dropTexts();
      this.#textOf('stored').set(content);
    }
    this.#finishTexts();
    // The error is the last text; the texts before it are still an answer.
    const last = [...this.#texts.values()].at(-1);
    last?.element.classList.toggle('turn-error', isError);
  }

  /** Ends texts, thinking and tool calls that still show activity. */
  finish() {
    this.#finishTexts();
    for (const thinking of this.#thinking.values())
      if (thinking.element.classList.contains('running')) thinking.finish(true);
    for (const tool of this.#tools.values()) tool.markUnfinished();
  }

  #add(tool: ToolPart, id: string) {
    this.#tools.set(id, tool);
    this.element.append(tool.element);
  }

  #thinkingOf(msgId: string, title?: string) {
    const knownPart = this.#thinking.get(msgId);
    if (knownPart !== undefined) return knownPart;
    const thinking = new ThinkingPart(title);
    this.#thinking.set(msgId, thinking);
    this.element.append(thinking.element);
    return thinking;
  }

  #textOf(msgId: string) {
    const knownPart = this.#texts.get(msgId);
    if (knownPart !== undefined) return knownPart;
    const text = new LiveMarkdown(this.#onDraw);
    this.#texts.set(msgId, text);
    this.element.append(text.element);
    return text;
  }

  /** Continues a call whose beginning is in the snapshot there, so that its Markdown is parsed as one text. */
  #continueSnapshot(msgId: string) {
    const snapshot = this.#texts.get('snapshot');
    if (snapshot === undefined || this.#texts.size > 1 || this.#calls.has(msgId)) return;
    this.#texts.delete('snapshot');
    this.#texts.set(msgId, snapshot);
  }

  #drop(msgId: string) {
    this.#texts.get(msgId)?.element.remove();
    this.#texts.delete(msgId);
    this.#dropThinking(msgId);
  }

  #dropThinking(msgId: string) {
    this.#thinking.get(msgId)?.element.remove();
    this.#thinking.delete(msgId);
  }

  #finishTexts() {
    for (const text of this.#texts.values()) text.finish();
  }

  #dropTexts() {
    for (const text of this.#texts.values()) text.element.remove();
    this.#texts.clear();
  }
}
