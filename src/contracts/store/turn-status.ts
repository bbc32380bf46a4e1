/** How a turn stands, for those who wait for its end. */
import type { ToolCall, Usage } from '../model/provider.ts';
import type { MessageRecord, TurnFailure } from './records.ts';

/** The state of a turn, with its final message once it is done. */
export interface TurnStatus {
  state: 'queued' | 'running' | 'parked' | 'done';
  reason?: string | undefined;
  failure?: TurnFailure | undefined;
  final?: MessageRecord | undefined;
  /** Sum of all model calls of a finished turn; undefined when there were none. */
  usage?: Usage | undefined;
  /** Set while it waits for its caller's tools. */
  waitsFor?: WaitingCalls | undefined;
}

/** Calls of tools that a turn's caller runs, with the turn's text and usage up to them. */
export interface WaitingCalls {
  calls: ToolCall[];
  text: string;
  usage: Usage;
}
