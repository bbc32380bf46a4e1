/** The taint of a running turn: the sources of everything it has read, and what it has sent out while reading. */
import { mergeSources, type Source } from '../../protocol/agent/risk.ts';

/**
 * One object per turn, shared by the steps of its plan. It begins with the sources of its session and only grows: every
 * answer is stored with them, and the store adds those of each row to its session.
 */
export class Taint {
  #sources: readonly Source[];
  readonly #sent: Set<string>;

  constructor(sources: readonly Source[] = [], sent = new Set<string>()) {
    this.#sources = mergeSources([], sources);
    this.#sent = sent;
  }

  /** Empty = the turn has read only text of its person and of the gateway. */
  get sources(): readonly Source[] {
    return this.#sources;
  }

  add(sources: readonly Source[]): void {
    this.#sources = mergeSources(this.#sources, sources);
  }

  /** Addresses and queries that the turn and its subagents have sent out. */
  get sent(): ReadonlySet<string> {
    return this.#sent;
  }

  noteSent(text: string): void {
    this.#sent.add(text);
  }

  /** The taint of a subagent: what it reads taints the turn with its result; what it sends out counts at once. */
  fork(): Taint {
    return new Taint(this.#sources, this.#sent);
  }
}
