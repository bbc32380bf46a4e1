/** What the HTTP API takes and answers, by method and path. Made by "npm run docs" from /v1/openapi.json. */

export type Event =
  | {
      type: 'message_received';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      content: string;
      seq: number;
      senderName?: string;
      [k: string]: unknown;
    }
  | {
      type: 'message_sent';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      seq: number;
      content: string;
      attachments?: {
        kind: string;
        name: string;
        mimeType: string;
        bytes: number;
        /**
         * its name for GET /v1/sessions/{key}/files/…
         */
        file: string;
        [k: string]: unknown;
      }[];
      [k: string]: unknown;
    }
  | {
      type: 'queue_position';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      position: number;
      [k: string]: unknown;
    }
  | {
      type: 'messages_joined';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      turnIds: string[];
      [k: string]: unknown;
    }
  | {
      type: 'queue_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'context_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'turn_started';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'thinking_started';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      title?: string;
      [k: string]: unknown;
    }
  | {
      type: 'thinking_delta';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      delta: string;
      [k: string]: unknown;
    }
  | {
      type: 'thinking_finished';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      usage?: Usage;
      /**
       * of the call, where it has a usage
       */
      model?: string;
      [k: string]: unknown;
    }
  | {
      type: 'stream_start';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      /**
       * the text is the reason why the turn has no answer
       */
      failure?: true;
      [k: string]: unknown;
    }
  | {
      type: 'stream_chunk';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      delta: string;
      [k: string]: unknown;
    }
  | {
      type: 'stream_reset';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      [k: string]: unknown;
    }
  | {
      type: 'stream_end';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      /**
       * names the call of the model
       */
      msgId: string;
      content: string;
      usage: Usage;
      [k: string]: unknown;
    }
  | {
      type: 'snapshot';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      text: string;
      [k: string]: unknown;
    }
  | {
      type: 'turn_ended';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      reason: 'completed' | 'cut_off' | 'filtered' | 'stopped' | 'max_iterations' | 'failed' | 'interrupted';
      [k: string]: unknown;
    }
  | {
      type: 'tool_call';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      toolCallId: string;
      name: string;
      args: {
        [k: string]: unknown;
      };
      [k: string]: unknown;
    }
  | {
      type: 'tool_progress';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      toolCallId: string;
      name: string;
      text: string;
      [k: string]: unknown;
    }
  | {
      type: 'tool_result';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      toolCallId: string;
      name: string;
      result: string;
      isError: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'tool_results_needed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      calls: {
        id: string;
        name: string;
        args: {
          [k: string]: unknown;
        };
        /**
         * arguments that are not an object, as the model wrote them
         */
        malformed?: string;
        /**
         * further fields of the call, in the form of the model's server
         */
        extra?: {
          [k: string]: unknown;
        };
        [k: string]: unknown;
      }[];
      [k: string]: unknown;
    }
  | {
      type: 'approval_needed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      approvalId: string;
      toolCallId?: string;
      warningMessage?: string;
      [k: string]: unknown;
    }
  | {
      type: 'approval_decided';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      approvalId: string;
      decision: 'approved' | 'denied';
      toolCallId?: string;
      by?: string;
      how?: 'person' | 'expiry' | 'stop';
      decidedAt?: string;
      reason?: string;
      args?: {
        [k: string]: unknown;
      };
      [k: string]: unknown;
    }
  | {
      type: 'subagent_spawned';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      profileId: string;
      task: string;
      [k: string]: unknown;
    }
  | {
      type: 'subagent_completed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      result: string;
      completedNormally: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'plan_ready';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      plan: Plan;
      [k: string]: unknown;
    }
  | {
      type: 'plan_revised';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      plan: Plan;
      reason: string;
      [k: string]: unknown;
    }
  | {
      type: 'plan_edited';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      plan: Plan;
      [k: string]: unknown;
    }
  | {
      type: 'plan_completed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'plan_ignored';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'plan_paused';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'plan_resumed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'plan_cancelled';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      reason: string;
      why?: KeptText1;
      [k: string]: unknown;
    }
  | {
      type: 'step_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      step: PlanStep;
      [k: string]: unknown;
    }
  | {
      type: 'agent_thinking';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      step: PlanStep;
      [k: string]: unknown;
    }
  | {
      type: 'agent_stuck';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      step?: PlanStep;
      reason: string;
      why?: KeptText1;
      [k: string]: unknown;
    }
  | {
      type: 'retry_attempt';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      step: PlanStep;
      attempt: number;
      newCommand?: string;
      [k: string]: unknown;
    }
  | {
      type: 'step_skipped';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      step: PlanStep;
      [k: string]: unknown;
    }
  | {
      type: 'budget_warning';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      remaining: number;
      total: number;
      [k: string]: unknown;
    }
  | {
      type: 'todo_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      items: {
        text: string;
        status: string;
        [k: string]: unknown;
      }[];
      [k: string]: unknown;
    }
  | {
      type: 'mode_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      mode: string;
      [k: string]: unknown;
    }
  | {
      type: 'profile_switched';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      profileId: string;
      [k: string]: unknown;
    }
  | {
      type: 'session_titled';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      title: string | null;
      [k: string]: unknown;
    }
  | {
      type: 'context_compressed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      before: number;
      after: number;
      [k: string]: unknown;
    }
  | {
      type: 'notice';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      code: string;
      text: string;
      [k: string]: unknown;
    }
  | {
      type: 'cron_executed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      scheduleId: string;
      [k: string]: unknown;
    }
  | {
      type: 'heartbeat_tick';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'surfaces_changed';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    }
  | {
      type: 'session_deleted';
      sessionKey: string;
      turnId?: string;
      epoch?: number;
      eventSeq?: number;
      /**
       * epoch milliseconds
       */
      at: number;
      agentId?: string;
      isSubagent?: boolean;
      [k: string]: unknown;
    };

export interface Api {
  'GET /healthz': {
    answer: {
      status: 'ok';
    };
  };
  'GET /readyz': {
    answer: {
      ready: boolean;
      [k: string]: unknown;
    };
  };
  'GET /v1/models': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/models/{path}': {
    path: {
      path: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/commands': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/settings': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/openapi.json': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/chat/completions': {
    body: {
      top_k?: number | null;
      min_p?: number | null;
      typical_p?: number | null;
      repeat_penalty?: number | null;
      repetition_penalty?: number | null;
      repeat_last_n?: number | null;
      mirostat?: number | null;
      mirostat_tau?: number | null;
      mirostat_eta?: number | null;
      options?: {
        top_k?: number | null;
        min_p?: number | null;
        typical_p?: number | null;
        repeat_penalty?: number | null;
        repetition_penalty?: number | null;
        repeat_last_n?: number | null;
        mirostat?: number | null;
        mirostat_tau?: number | null;
        mirostat_eta?: number | null;
        temperature?: number | null;
        top_p?: number | null;
        seed?: number | null;
        presence_penalty?: number | null;
        frequency_penalty?: number | null;
        num_predict?: number | null;
        stop?:
          | (
              | string
              | []
              | [string]
              | [string, string]
              | [string, string, string]
              | [string, string, string, string]
              | [string, string, string, string, string]
              | [string, string, string, string, string, string]
              | [string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string, string]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
            )
          | null;
        [k: string]: unknown;
      } | null;
      think?: (boolean | ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')) | null;
      enable_thinking?: boolean | null;
      thinking?: {
        type: string;
        [k: string]: unknown;
      } | null;
      chat_template_kwargs?: {
        enable_thinking?: boolean | null;
        thinking?: boolean | null;
        reasoning_effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        [k: string]: unknown;
      } | null;
      reasoning?: {
        effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        enabled?: boolean | null;
        [k: string]: unknown;
      } | null;
      model?: string | null;
      /**
       * @minItems 1
       * @maxItems 8192
       */
      messages: [unknown, ...unknown[]];
      stream?: boolean | null;
      stream_options?: {
        include_usage?: boolean | null;
        [k: string]: unknown;
      } | null;
      user?:
        | (
            | string
            | {
                id: string;
                [k: string]: unknown;
              }
          )
        | null;
      temperature?: number | null;
      top_p?: number | null;
      max_tokens?: number | null;
      max_completion_tokens?: number | null;
      stop?:
        | (
            | string
            | []
            | [string]
            | [string, string]
            | [string, string, string]
            | [string, string, string, string]
            | [string, string, string, string, string]
            | [string, string, string, string, string, string]
            | [string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string, string, string]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
          )
        | null;
      seed?: number | null;
      presence_penalty?: number | null;
      frequency_penalty?: number | null;
      logit_bias?: {
        [k: string]: number;
      } | null;
      logprobs?: boolean | null;
      top_logprobs?: number | null;
      reasoning_effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
      response_format?:
        | (
            | {
                type: 'text';
                [k: string]: unknown;
              }
            | {
                type: 'json_object';
                [k: string]: unknown;
              }
            | {
                type: 'json_schema';
                json_schema: {
                  name: string;
                  description?: string | null;
                  schema: {
                    [k: string]: unknown;
                  };
                  strict?: boolean | null;
                  [k: string]: unknown;
                };
                [k: string]: unknown;
              }
          )
        | null;
      tools?:
        | {
            type: 'function';
            function: {
              name: string;
              description?: string | null;
              parameters?: {
                [k: string]: unknown;
              } | null;
              strict?: boolean | null;
              [k: string]: unknown;
            };
            [k: string]: unknown;
          }[]
        | null;
      tool_choice?:
        | (
            | ('none' | 'auto' | 'required')
            | {
                type: 'function';
                function: {
                  name: string;
                  [k: string]: unknown;
                };
                [k: string]: unknown;
              }
            | {
                type: 'allowed_tools';
                allowed_tools: {
                  mode: 'auto' | 'required';
                  tools: {
                    type: 'function';
                    function: {
                      name: string;
                      [k: string]: unknown;
                    };
                    [k: string]: unknown;
                  }[];
                  [k: string]: unknown;
                };
                [k: string]: unknown;
              }
          )
        | null;
      parallel_tool_calls?: boolean | null;
      mode?: string | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/responses': {
    body: {
      top_k?: number | null;
      min_p?: number | null;
      typical_p?: number | null;
      repeat_penalty?: number | null;
      repetition_penalty?: number | null;
      repeat_last_n?: number | null;
      mirostat?: number | null;
      mirostat_tau?: number | null;
      mirostat_eta?: number | null;
      options?: {
        top_k?: number | null;
        min_p?: number | null;
        typical_p?: number | null;
        repeat_penalty?: number | null;
        repetition_penalty?: number | null;
        repeat_last_n?: number | null;
        mirostat?: number | null;
        mirostat_tau?: number | null;
        mirostat_eta?: number | null;
        temperature?: number | null;
        top_p?: number | null;
        seed?: number | null;
        presence_penalty?: number | null;
        frequency_penalty?: number | null;
        num_predict?: number | null;
        stop?:
          | (
              | string
              | []
              | [string]
              | [string, string]
              | [string, string, string]
              | [string, string, string, string]
              | [string, string, string, string, string]
              | [string, string, string, string, string, string]
              | [string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string, string]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
            )
          | null;
        [k: string]: unknown;
      } | null;
      think?: (boolean | ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')) | null;
      enable_thinking?: boolean | null;
      thinking?: {
        type: string;
        [k: string]: unknown;
      } | null;
      chat_template_kwargs?: {
        enable_thinking?: boolean | null;
        thinking?: boolean | null;
        reasoning_effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        [k: string]: unknown;
      } | null;
      model?: string | null;
      input: unknown;
      instructions?: string | null;
      stream?: boolean | null;
      user?:
        | (
            | string
            | {
                id: string;
                [k: string]: unknown;
              }
          )
        | null;
      previous_response_id?: string | null;
      temperature?: number | null;
      top_p?: number | null;
      max_output_tokens?: number | null;
      parallel_tool_calls?: boolean | null;
      store?: boolean | null;
      metadata?: {
        [k: string]: unknown;
      } | null;
      tools?:
        | (
            | {
                type: 'function';
                name: string;
                description?: string | null;
                parameters?: {
                  [k: string]: unknown;
                } | null;
                strict?: boolean | null;
                async?: false | null;
                defer_loading?: boolean | null;
                [k: string]: unknown;
              }
            | {
                type: 'namespace';
                name: string;
                tools: (
                  | {
                      type: 'function';
                      name: string;
                      description?: string | null;
                      parameters?: {
                        [k: string]: unknown;
                      } | null;
                      strict?: boolean | null;
                      async?: false | null;
                      defer_loading?: boolean | null;
                      [k: string]: unknown;
                    }
                  | {
                      type:
                        | 'web_search'
                        | 'web_search_2025_08_26'
                        | 'web_search_preview'
                        | 'web_search_preview_2025_03_11'
                        | 'file_search'
                        | 'image_generation'
                        | 'code_interpreter'
                        | 'mcp'
                        | 'custom'
                        | 'local_shell'
                        | 'shell'
                        | 'apply_patch'
                        | 'computer'
                        | 'computer_use_preview'
                        | 'tool_search'
                        | 'programmatic_tool_calling';
                      [k: string]: unknown;
                    }
                )[];
                [k: string]: unknown;
              }
            | {
                type:
                  | 'web_search'
                  | 'web_search_2025_08_26'
                  | 'web_search_preview'
                  | 'web_search_preview_2025_03_11'
                  | 'file_search'
                  | 'image_generation'
                  | 'code_interpreter'
                  | 'mcp'
                  | 'custom'
                  | 'local_shell'
                  | 'shell'
                  | 'apply_patch'
                  | 'computer'
                  | 'computer_use_preview'
                  | 'tool_search'
                  | 'programmatic_tool_calling';
                [k: string]: unknown;
              }
          )[]
        | null;
      tool_choice?:
        | (
            | ('none' | 'auto' | 'required')
            | {
                type: 'function';
                name: string;
                namespace?: string | null;
                [k: string]: unknown;
              }
            | {
                type: 'allowed_tools';
                mode: 'auto' | 'required';
                tools: (
                  | {
                      type: 'function';
                      name: string;
                      namespace?: string | null;
                      [k: string]: unknown;
                    }
                  | {
                      type:
                        | 'web_search'
                        | 'web_search_2025_08_26'
                        | 'web_search_preview'
                        | 'web_search_preview_2025_03_11'
                        | 'file_search'
                        | 'image_generation'
                        | 'code_interpreter'
                        | 'mcp'
                        | 'custom'
                        | 'local_shell'
                        | 'shell'
                        | 'apply_patch'
                        | 'computer'
                        | 'computer_use_preview'
                        | 'tool_search'
                        | 'programmatic_tool_calling';
                      [k: string]: unknown;
                    }
                )[];
                [k: string]: unknown;
              }
            | {
                type:
                  | 'web_search'
                  | 'web_search_2025_08_26'
                  | 'web_search_preview'
                  | 'web_search_preview_2025_03_11'
                  | 'file_search'
                  | 'image_generation'
                  | 'code_interpreter'
                  | 'mcp'
                  | 'custom'
                  | 'local_shell'
                  | 'shell'
                  | 'apply_patch'
                  | 'computer'
                  | 'computer_use_preview'
                  | 'tool_search'
                  | 'programmatic_tool_calling';
                [k: string]: unknown;
              }
          )
        | null;
      include?: string[] | null;
      reasoning?: {
        effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        [k: string]: unknown;
      } | null;
      text?: {
        format?:
          | (
              | {
                  type: 'text';
                  [k: string]: unknown;
                }
              | {
                  type: 'json_object';
                  [k: string]: unknown;
                }
              | {
                  name: string;
                  description?: string | null;
                  schema: {
                    [k: string]: unknown;
                  };
                  strict?: boolean | null;
                  type: 'json_schema';
                  [k: string]: unknown;
                }
            )
          | null;
        [k: string]: unknown;
      } | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/responses/{id}': {
    path: {
      id: string;
    };
    answer: {
      id: string;
      object: 'response';
      created_at: number;
      status: 'completed' | 'incomplete';
      model: string;
      output: {
        id: string;
        type: string;
        [k: string]: unknown;
      }[];
      store: true;
      [k: string]: unknown;
    };
  };
  'DELETE /v1/responses/{id}': {
    path: {
      id: string;
    };
    answer: {
      id: string;
      object: 'response';
      deleted: true;
    };
  };
  'GET /v1/responses/{id}/input_items': {
    path: {
      id: string;
    };
    query?: {
      limit?: string;
      order?: string;
      after?: string;
    };
    answer: {
      object: 'list';
      data: {
        id: string;
        type: string;
        [k: string]: unknown;
      }[];
      first_id: string | null;
      last_id: string | null;
      has_more: boolean;
    };
  };
  'POST /v1/completions': {
    body: {
      top_k?: number | null;
      min_p?: number | null;
      typical_p?: number | null;
      repeat_penalty?: number | null;
      repetition_penalty?: number | null;
      repeat_last_n?: number | null;
      mirostat?: number | null;
      mirostat_tau?: number | null;
      mirostat_eta?: number | null;
      options?: {
        top_k?: number | null;
        min_p?: number | null;
        typical_p?: number | null;
        repeat_penalty?: number | null;
        repetition_penalty?: number | null;
        repeat_last_n?: number | null;
        mirostat?: number | null;
        mirostat_tau?: number | null;
        mirostat_eta?: number | null;
        temperature?: number | null;
        top_p?: number | null;
        seed?: number | null;
        presence_penalty?: number | null;
        frequency_penalty?: number | null;
        num_predict?: number | null;
        stop?:
          | (
              | string
              | []
              | [string]
              | [string, string]
              | [string, string, string]
              | [string, string, string, string]
              | [string, string, string, string, string]
              | [string, string, string, string, string, string]
              | [string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string, string]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
            )
          | null;
        [k: string]: unknown;
      } | null;
      think?: (boolean | ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')) | null;
      enable_thinking?: boolean | null;
      thinking?: {
        type: string;
        [k: string]: unknown;
      } | null;
      chat_template_kwargs?: {
        enable_thinking?: boolean | null;
        thinking?: boolean | null;
        reasoning_effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        [k: string]: unknown;
      } | null;
      reasoning?: {
        effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
        enabled?: boolean | null;
        [k: string]: unknown;
      } | null;
      model?: string | null;
      stream?: boolean | null;
      stream_options?: {
        include_usage?: boolean | null;
        [k: string]: unknown;
      } | null;
      user?:
        | (
            | string
            | {
                id: string;
                [k: string]: unknown;
              }
          )
        | null;
      temperature?: number | null;
      top_p?: number | null;
      max_tokens?: number | null;
      max_completion_tokens?: number | null;
      stop?:
        | (
            | string
            | []
            | [string]
            | [string, string]
            | [string, string, string]
            | [string, string, string, string]
            | [string, string, string, string, string]
            | [string, string, string, string, string, string]
            | [string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string, string]
            | [string, string, string, string, string, string, string, string, string, string, string, string]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
            | [
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string,
                string
              ]
          )
        | null;
      seed?: number | null;
      presence_penalty?: number | null;
      frequency_penalty?: number | null;
      logit_bias?: {
        [k: string]: number;
      } | null;
      top_logprobs?: number | null;
      reasoning_effort?: ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max') | null;
      response_format?:
        | (
            | {
                type: 'text';
                [k: string]: unknown;
              }
            | {
                type: 'json_object';
                [k: string]: unknown;
              }
            | {
                type: 'json_schema';
                json_schema: {
                  name: string;
                  description?: string | null;
                  schema: {
                    [k: string]: unknown;
                  };
                  strict?: boolean | null;
                  [k: string]: unknown;
                };
                [k: string]: unknown;
              }
          )
        | null;
      mode?: string | null;
      prompt: string | never[];
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/audio/transcriptions': {
    answer: {
      text: string;
      [k: string]: unknown;
    };
  };
  'POST /v1/embeddings': {
    body: {
      input: string | [string, ...string[]];
      model: string;
      dimensions?: number | null;
      encoding_format?: ('float' | 'base64') | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /api/version': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /api/tags': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /api/ps': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /api/show': {
    body: {
      model?: string | null;
      name?: string | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /api/chat': {
    body: {
      model?: string | null;
      stream?: boolean | null;
      format?:
        | (
            | ('json' | '')
            | {
                [k: string]: unknown;
              }
          )
        | null;
      think?: (boolean | ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')) | null;
      options?: {
        top_k?: number | null;
        min_p?: number | null;
        typical_p?: number | null;
        repeat_penalty?: number | null;
        repetition_penalty?: number | null;
        repeat_last_n?: number | null;
        mirostat?: number | null;
        mirostat_tau?: number | null;
        mirostat_eta?: number | null;
        temperature?: number | null;
        top_p?: number | null;
        seed?: number | null;
        presence_penalty?: number | null;
        frequency_penalty?: number | null;
        num_predict?: number | null;
        stop?:
          | (
              | string
              | []
              | [string]
              | [string, string]
              | [string, string, string]
              | [string, string, string, string]
              | [string, string, string, string, string]
              | [string, string, string, string, string, string]
              | [string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string, string]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
            )
          | null;
        [k: string]: unknown;
      } | null;
      keep_alive?: number | string | null;
      logprobs?: boolean | null;
      top_logprobs?: number | null;
      messages?: unknown[] | null;
      tools?:
        | {
            type: 'function';
            function: {
              name: string;
              description?: string | null;
              parameters?: {
                [k: string]: unknown;
              } | null;
              strict?: boolean | null;
              [k: string]: unknown;
            };
            [k: string]: unknown;
          }[]
        | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /api/generate': {
    body: {
      model?: string | null;
      stream?: boolean | null;
      format?:
        | (
            | ('json' | '')
            | {
                [k: string]: unknown;
              }
          )
        | null;
      think?: (boolean | ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')) | null;
      options?: {
        top_k?: number | null;
        min_p?: number | null;
        typical_p?: number | null;
        repeat_penalty?: number | null;
        repetition_penalty?: number | null;
        repeat_last_n?: number | null;
        mirostat?: number | null;
        mirostat_tau?: number | null;
        mirostat_eta?: number | null;
        temperature?: number | null;
        top_p?: number | null;
        seed?: number | null;
        presence_penalty?: number | null;
        frequency_penalty?: number | null;
        num_predict?: number | null;
        stop?:
          | (
              | string
              | []
              | [string]
              | [string, string]
              | [string, string, string]
              | [string, string, string, string]
              | [string, string, string, string, string]
              | [string, string, string, string, string, string]
              | [string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string]
              | [string, string, string, string, string, string, string, string, string, string, string]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
              | [
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string,
                  string
                ]
            )
          | null;
        [k: string]: unknown;
      } | null;
      keep_alive?: number | string | null;
      logprobs?: boolean | null;
      top_logprobs?: number | null;
      prompt?: string | null;
      system?: string | null;
      images?: string[] | null;
      suffix?: unknown;
      template?: unknown;
      context?: unknown;
      raw?: unknown;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /api/embed': {
    body: {
      model: string;
      input: string | string[];
      dimensions?: number | null;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /api/embeddings': {
    body: {
      model: string;
      prompt: string;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/hooks/{name}': {
    path: {
      name: string;
    };
    body: unknown;
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/updates/{channel}': {
    path: {
      channel: string;
    };
    body: unknown;
    answer: {
      ok: true;
    };
  };
  'POST /v1/interactions/{channel}': {
    path: {
      channel: string;
    };
    body: unknown;
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/language': {
    answer: {
      language: string;
      chosen: boolean;
      languages: string[];
    };
  };
  'PATCH /v1/language': {
    body: {
      language: string;
    };
    answer: {
      language: string;
      chosen: boolean;
      languages: string[];
    };
  };
  'GET /v1/me/memories': {
    query?: {
      q?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/me/memories/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/usage': {
    query?: {
      from?: string;
      to?: string;
      by?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/me/push': {
    answer: {
      publicKey: string;
      browsers: {
        id: string;
        client: string;
        createdAt: string;
      }[];
    };
  };
  'POST /v1/me/push': {
    body: {
      endpoint: string;
      keys: {
        p256dh: string;
        auth: string;
        [k: string]: unknown;
      };
      [k: string]: unknown;
    };
    answer: {
      id: string;
    };
  };
  'DELETE /v1/me/push/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/sessions': {
    query?: {
      limit?: string;
      before?: string;
      archived?: string;
    };
    answer: {
      sessions: ListedSession[];
    };
  };
  'POST /v1/sessions/delete': {
    body: {
      /**
       * @minItems 1
       * @maxItems 100
       */
      keys: [string, ...string[]];
    };
    answer: {
      deleted: string[];
    };
  };
  'GET /v1/search': {
    query?: {
      limit?: string;
      q?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/sessions/{key}': {
    path: {
      key: string;
    };
    answer: Session;
  };
  'PATCH /v1/sessions/{key}': {
    path: {
      key: string;
    };
    body: {
      profileId?: string;
      model?: string | null;
      mode?: string;
      queueMode?: string;
      /**
       * listed before the others
       */
      pinned?: boolean;
      /**
       * listed only on request
       */
      archived?: boolean;
      readSeq?: number;
      title?: string | null;
    };
    answer: Session;
  };
  'DELETE /v1/sessions/{key}': {
    path: {
      key: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/sessions/{key}/messages': {
    path: {
      key: string;
    };
    query?: {
      limit?: string;
      before?: string;
      include?: string;
    };
    answer: {
      messages: Message[];
      resets: ContextReset[];
      [k: string]: unknown;
    };
  };
  'POST /v1/sessions/{key}/messages': {
    path: {
      key: string;
    };
    body: {
      content: string;
      files?: string[];
      voice?: boolean;
      quoted?: {
        text: string;
        author?: string;
      };
      user?:
        | (
            | string
            | {
                id: string;
                [k: string]: unknown;
              }
          )
        | null;
      model?: string;
      mode?: string;
      session?: {
        profileId?: string;
        model?: string;
        mode?: string;
      };
    };
    answer: Handled | Receipt;
  };
  'GET /v1/sessions/{key}/plan': {
    path: {
      key: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/sessions/{key}/stop': {
    path: {
      key: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/sessions/{key}/export': {
    path: {
      key: string;
    };
    query?: {
      format?: string;
    };
    answer: {
      messages: {
        [k: string]: unknown;
      }[];
      [k: string]: unknown;
    };
  };
  'GET /v1/events': {
    answer: string;
  };
  'GET /v1/sessions/{key}/events': {
    path: {
      key: string;
    };
    answer: Event;
  };
  'GET /v1/sessions/{key}/files': {
    path: {
      key: string;
    };
    answer: {
      files: {
        /**
         * its path, as in `GET /v1/sessions/{key}/files/…`
         */
        file: string;
        name: string;
        bytes: number;
        changedAt: string;
      }[];
      more: boolean;
    };
  };
  'POST /v1/sessions/{key}/files': {
    path: {
      key: string;
    };
    query?: {
      name?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/sessions/{key}/files/{path}': {
    path: {
      key: string;
      path: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/file-limits': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/choices': {
    query?: {
      profile?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/sessions/{key}/fork': {
    path: {
      key: string;
    };
    body: {
      seq: number;
      before?: boolean;
      title?: string;
    };
    answer: Session;
  };
  'GET /v1/sessions/{key}/queue': {
    path: {
      key: string;
    };
    answer: Queue;
  };
  'PATCH /v1/sessions/{key}/queue/{turn}': {
    path: {
      key: string;
      turn: string;
    };
    body: {
      content: string;
    };
    answer: Queue;
  };
  'DELETE /v1/sessions/{key}/queue/{turn}': {
    path: {
      key: string;
      turn: string;
    };
    answer: Queue;
  };
  'POST /v1/sessions/{key}/queue/{turn}/send-now': {
    path: {
      key: string;
      turn: string;
    };
    answer: Queue;
  };
  'GET /v1/sessions/{key}/model': {
    path: {
      key: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/sessions/{key}/retry': {
    path: {
      key: string;
    };
    body: {
      content?: string;
      model?: string;
    };
    answer: Receipt;
  };
  'GET /v1/sessions/{key}/undo': {
    path: {
      key: string;
    };
    query?: {
      turn?: string;
    };
    answer: Undo;
  };
  'POST /v1/sessions/{key}/undo': {
    path: {
      key: string;
    };
    query?: {
      turn?: string;
    };
    answer: Undo;
  };
  'POST /v1/sessions/{key}/turns/{turn}/choose': {
    path: {
      key: string;
      turn: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/turns/{id}/trace': {
    path: {
      id: string;
    };
    query?: {
      include?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/turns/{id}/replay': {
    path: {
      id: string;
    };
    body: {
      model?: string;
      profileId?: string;
    };
    answer: {
      turnId: string;
      session: string;
      question: string;
      original: {
        model: string;
        profileId: string;
        answer: string;
        reason: string;
        error?: string;
        calls: {
          name: string;
          args: {
            [k: string]: unknown;
          };
          result?: string;
          isError?: boolean;
        }[];
        iterations: number;
        promptTokens: number;
        completionTokens: number;
        estimated: boolean;
        modelMs: number;
        ms: number;
        cost?: {
          amount: number;
          currency: string;
        };
      };
      replay: {
        model: string;
        profileId: string;
        answer: string;
        reason: string;
        error?: string;
        calls: {
          name: string;
          args: {
            [k: string]: unknown;
          };
          result?: string;
          isError?: boolean;
        }[];
        iterations: number;
        promptTokens: number;
        completionTokens: number;
        estimated: boolean;
        modelMs: number;
        ms: number;
        cost?: {
          amount: number;
          currency: string;
        };
      };
      missing: string[];
    };
  };
  'PUT /v1/turns/{id}/mark': {
    path: {
      id: string;
    };
    body: {
      set?: string;
      checks?: (
        | {
            type: 'contains';
            text: string;
          }
        | {
            type: 'not-contains';
            text: string;
          }
        | {
            type: 'regex';
            pattern: string;
          }
        | {
            type: 'schema';
            schema: {
              [k: string]: unknown;
            };
          }
        | {
            type: 'judge';
            question: string;
          }
      )[];
    };
    answer: {
      set: string;
      turnId: string;
      session: string;
      question: string;
      checks: (
        | {
            type: 'contains';
            text: string;
          }
        | {
            type: 'not-contains';
            text: string;
          }
        | {
            type: 'regex';
            pattern: string;
          }
        | {
            type: 'schema';
            schema: {
              [k: string]: unknown;
            };
          }
        | {
            type: 'judge';
            question: string;
          }
      )[];
      /**
       * ISO 8601
       */
      markedAt: string;
    };
  };
  'DELETE /v1/turns/{id}/mark': {
    path: {
      id: string;
    };
    query?: {
      set?: string;
    };
    answer: {
      turnId: string;
      set: string;
      deleted: boolean;
    };
  };
  'GET /v1/marks': {
    answer: {
      marks: {
        set: string;
        turnId: string;
        session: string;
        question: string;
        checks: (
          | {
              type: 'contains';
              text: string;
            }
          | {
              type: 'not-contains';
              text: string;
            }
          | {
              type: 'regex';
              pattern: string;
            }
          | {
              type: 'schema';
              schema: {
                [k: string]: unknown;
              };
            }
          | {
              type: 'judge';
              question: string;
            }
        )[];
        /**
         * ISO 8601
         */
        markedAt: string;
      }[];
    };
  };
  'POST /v1/sessions/{key}/links': {
    path: {
      key: string;
    };
    answer: {
      code: string;
      commands: {
        command: string;
        networks: string[];
      }[];
      expiresAt: string;
    };
  };
  'POST /v1/sessions/{key}/link': {
    path: {
      key: string;
    };
    body: {
      code: string;
    };
    answer: {
      asks: {
        address: string;
        place: 'private' | 'group';
        name: string | null;
        id: string;
      };
    };
  };
  'POST /v1/links/{code}': {
    path: {
      code: string;
    };
    body: {
      session: string;
      agree: boolean;
    };
    answer: {
      state: 'joined' | 'waiting' | 'declined';
    };
  };
  'GET /v1/sessions/{key}/surfaces': {
    path: {
      key: string;
    };
    answer: {
      surfaces: {
        address: string;
        place: 'private' | 'group';
        name: string | null;
        linkedAt: string;
      }[];
      asks: {
        address: string;
        place: 'private' | 'group';
        name: string | null;
        id: string;
      } | null;
    };
  };
  'DELETE /v1/sessions/{key}/surfaces/{address}': {
    path: {
      key: string;
      address: string;
    };
    answer: {
      left: string;
    };
  };
  'POST /v1/sessions/{key}/plans': {
    path: {
      key: string;
    };
    body: {
      request: string;
      user?:
        | (
            | string
            | {
                id: string;
                [k: string]: unknown;
              }
          )
        | null;
    };
    answer: Receipt;
  };
  'GET /v1/plans': {
    query?: {
      session?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/plans/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'PATCH /v1/plans/{id}': {
    path: {
      id: string;
    };
    body: {
      version: number;
      /**
       * @minItems 1
       * @maxItems 30
       */
      edits: [
        (
          | {
              op: 'drop';
              step: string;
            }
          | {
              op: 'reword';
              step: string;
              description: string;
            }
          | {
              op: 'move';
              step: string;
              before: string;
            }
          | {
              op: 'move';
              step: string;
              after: string;
            }
          | {
              op: 'add';
              description: string;
              before: string;
            }
          | {
              op: 'add';
              description: string;
              after?: string;
            }
        ),
        ...(
          | {
              op: 'drop';
              step: string;
            }
          | {
              op: 'reword';
              step: string;
              description: string;
            }
          | {
              op: 'move';
              step: string;
              before: string;
            }
          | {
              op: 'move';
              step: string;
              after: string;
            }
          | {
              op: 'add';
              description: string;
              before: string;
            }
          | {
              op: 'add';
              description: string;
              after?: string;
            }
        )[]
      ];
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/plans/{id}/{action}': {
    path: {
      id: string;
      action: string;
    };
    query?: {
      step?: string;
    };
    body: {
      mode?: 'planner' | 'teacher' | 'agentic';
      version?: number;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/approvals': {
    answer: {
      approvals: Approval[];
      mayDecide: boolean;
    };
  };
  'POST /v1/approvals/{id}': {
    path: {
      id: string;
    };
    body: {
      decision: 'approved' | 'denied';
      reason?: string;
      always?: boolean;
      args?: {
        [k: string]: unknown;
      };
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/questions/{id}': {
    path: {
      id: string;
    };
    body:
      | {
          answer: string;
        }
      | {
          refuse: true;
          never?: boolean;
        };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/approval-rules': {
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/approval-rules/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/stream-tickets': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/sign-in': {
    body: {
      code: string;
    };
    answer: {
      signedIn: boolean;
      pageKey: string;
    };
  };
  'POST /v1/sign-in/proxy': {
    answer: {
      signedIn: boolean;
      pageKey?: string;
      reason?: string;
    };
  };
  'POST /v1/sign-in/app': {
    body: {
      data: string;
      /**
       * the page is in a frame of the network's web page
       */
      framed?: boolean;
    };
    answer: {
      signedIn: boolean;
      pageKey: string;
    };
  };
  'POST /v1/sign-out': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/sign-ins': {
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/sign-ins': {
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/sign-ins/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/schedules': {
    query?: {
      session?: string;
    };
    answer: {
      schedules: Schedule[];
    };
  };
  'POST /v1/schedules': {
    body: {
      session: string;
      task: string;
      cron?: string;
      everyMinutes?: number;
      inMinutes?: number;
      at?: string;
      timeZone?: string;
    };
    answer: Schedule;
  };
  'PATCH /v1/schedules/{id}': {
    path: {
      id: string;
    };
    body: {
      task?: string;
      cron?: string;
      everyMinutes?: number;
      inMinutes?: number;
      at?: string;
      timeZone?: string;
      paused?: boolean;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/schedules/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/schedules/{id}/runs': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/schedules/{id}/run': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/access': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/access/pairings': {
    body: {
      code: string;
      firstOwns?: boolean;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/access/grants': {
    body: {
      channel: string;
      kind: 'dm' | 'group' | 'owner' | 'guild' | 'role';
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/access/grants/{channel}/{kind}/{id}': {
    path: {
      channel: string;
      kind: string;
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/tokens': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/tokens': {
    body: {
      name: string;
      /**
       * @maxItems 4
       */
      scopes?:
        | []
        | ['chat' | 'approve' | 'commands' | 'admin']
        | ['chat' | 'approve' | 'commands' | 'admin', 'chat' | 'approve' | 'commands' | 'admin']
        | [
            'chat' | 'approve' | 'commands' | 'admin',
            'chat' | 'approve' | 'commands' | 'admin',
            'chat' | 'approve' | 'commands' | 'admin'
          ]
        | [
            'chat' | 'approve' | 'commands' | 'admin',
            'chat' | 'approve' | 'commands' | 'admin',
            'chat' | 'approve' | 'commands' | 'admin',
            'chat' | 'approve' | 'commands' | 'admin'
          ];
      expiresInDays?: number;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'PATCH /v1/tokens/{id}': {
    path: {
      id: string;
    };
    body: {
      name: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/tokens/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/tokens/{id}/rotate': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/profiles': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/profiles': {
    body: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/profiles/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'PATCH /v1/profiles/{id}': {
    path: {
      id: string;
    };
    body: {
      version: string;
      /**
       * @maxItems 50
       */
      changes?: {
        /**
         * @minItems 1
         * @maxItems 10
         */
        path:
          | [string | number]
          | [string | number, string | number]
          | [string | number, string | number, string | number]
          | [string | number, string | number, string | number, string | number]
          | [string | number, string | number, string | number, string | number, string | number]
          | [
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number
            ]
          | [
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number
            ]
          | [
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number
            ]
          | [
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number
            ]
          | [
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number,
              string | number
            ];
        value?: unknown;
      }[];
      systemPrompt?: string | null;
      subagentSystemPrompt?: string | null;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/profiles/{id}': {
    path: {
      id: string;
    };
    query?: {
      version?: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/config': {
    answer: {
      [k: string]: unknown;
    };
  };
  'PATCH /v1/config': {
    body: {
      version: string;
      /**
       * @minItems 1
       * @maxItems 50
       */
      changes: [
        {
          /**
           * @minItems 1
           * @maxItems 10
           */
          path:
            | [string | number]
            | [string | number, string | number]
            | [string | number, string | number, string | number]
            | [string | number, string | number, string | number, string | number]
            | [string | number, string | number, string | number, string | number, string | number]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ];
          value?: unknown;
        },
        ...{
          /**
           * @minItems 1
           * @maxItems 10
           */
          path:
            | [string | number]
            | [string | number, string | number]
            | [string | number, string | number, string | number]
            | [string | number, string | number, string | number, string | number]
            | [string | number, string | number, string | number, string | number, string | number]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ]
            | [
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number,
                string | number
              ];
          value?: unknown;
        }[]
      ];
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/channels': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/channels/{name}': {
    path: {
      name: string;
    };
    body: {
      variables?: {
        [k: string]: string;
      };
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/health': {
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/memories': {
    answer: {
      [k: string]: unknown;
    };
  };
  'DELETE /v1/memories/{id}': {
    path: {
      id: string;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/dead-letters': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/dead-letters/retry': {
    body: {
      lane: string;
      seq: number;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /v1/dead-letters/drop': {
    body: {
      lane: string;
      seq: number;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /v1/log': {
    answer: {
      [k: string]: unknown;
    };
  };
  'POST /mcp': {
    body: {
      jsonrpc: '2.0';
      id?: string | number;
      method?: string;
      [k: string]: unknown;
    };
    answer: {
      [k: string]: unknown;
    };
  };
  'GET /mcp': {
    answer: string;
  };
}
export interface ListedSession {
  key: string;
  profileId: string;
  model: string | null;
  mode: string;
  queueMode: string;
  title: string | null;
  /**
   * ISO 8601
   */
  createdAt: string;
  /**
   * ISO 8601
   */
  updatedAt: string;
  messageCount: number;
  /**
   * listed before the others
   */
  pinned: boolean;
  /**
   * listed only on request
   */
  archived: boolean;
  readSeq: number;
  preview: string;
  state: 'idle' | 'running' | 'waiting';
  queued: number;
  unread: number;
  ownerName: string | null;
  own: boolean;
  [k: string]: unknown;
}
export interface Session {
  key: string;
  profileId: string;
  model: string | null;
  mode: string;
  queueMode: string;
  title: string | null;
  /**
   * ISO 8601
   */
  createdAt: string;
  /**
   * ISO 8601
   */
  updatedAt: string;
  messageCount: number;
  /**
   * listed before the others
   */
  pinned: boolean;
  /**
   * listed only on request
   */
  archived: boolean;
  readSeq: number;
  [k: string]: unknown;
}
export interface Message {
  seq: number;
  role: 'user' | 'assistant' | 'system';
  content: string;
  turnId: string;
  /**
   * ISO 8601
   */
  createdAt: string;
  senderName: string | null;
  isPlan: boolean;
  isError: boolean;
  leftOut: boolean;
  model: string | null;
  [k: string]: unknown;
}
export interface ContextReset {
  /**
   * the number of the last message that the model no longer reads
   */
  after: number;
  /**
   * ISO 8601
   */
  at: string;
}
export interface Handled {
  handled: true;
  reply: string | null;
  [k: string]: unknown;
}
export interface Receipt {
  turnId: string;
  seq: number;
  lastEventId: string;
  [k: string]: unknown;
}
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  modelMs: number;
  estimated?: true;
  [k: string]: unknown;
}
export interface Plan {
  id: string;
  goal: string;
  milestones: string[];
  steps: PlanStep[];
  mode: 'planner' | 'agentic' | 'teacher';
  state: 'stored' | 'running' | 'paused' | 'completed' | 'cancelled' | 'ignored';
  originalLength: number;
  /**
   * why it was cancelled, in English or as the model wrote it
   */
  reason?: string;
  why?: KeptText;
  /**
   * rises with each change that a person makes
   */
  version?: number;
  runs?: number;
  /**
   * of its card in chats, if it is not English
   */
  language?: string;
  /**
   * of a run: the plan that is run
   */
  origin?: {
    planId: string;
    run: number;
  };
  [k: string]: unknown;
}
export interface PlanStep {
  id: string;
  /**
   * place in the plan, from 0
   */
  index: number;
  description: string;
  executor:
    | {
        kind: 'tool';
        tool: string;
      }
    | {
        kind: 'agent';
        profileId: string;
      }
    | {
        kind: 'self';
      };
  /**
   * of a tool, once they are known
   */
  args?: {
    [k: string]: unknown;
  };
  risk: 'safe' | 'caution' | 'dangerous';
  status: 'pending' | 'running' | 'done' | 'failed' | 'skipped';
  /**
   * how it was checked that the step is done
   */
  validation?: string;
  attempts: number;
  corrections: number;
  /**
   * why it was last corrected
   */
  revision?: string;
  [k: string]: unknown;
}
/**
 * the same by the key of its text, where the gateway itself says it
 */
export interface KeptText {
  key: string;
  values?: {
    [k: string]: string | number | KeptText1;
  };
}
export interface KeptText1 {
  key: string;
  values?: {
    [k: string]: string | number | KeptText1;
  };
}
export interface Queue {
  mode: string;
  busy: boolean;
  messages: {
    turnId: string;
    seq: number | null;
    content: string;
    isEditable: boolean;
    /**
     * ISO 8601
     */
    createdAt: string;
    [k: string]: unknown;
  }[];
  [k: string]: unknown;
}
export interface Undo {
  turnId: string;
  /**
   * the question
   */
  content: string;
  goesBack: {
    kind: string;
    name: string;
    how: 'restored' | 'removed';
    /**
     * in the language of the token's person
     */
    text: string;
    [k: string]: unknown;
  }[];
  stays: {
    kind: string;
    name: string;
    why: string;
    text: string;
    [k: string]: unknown;
  }[];
  [k: string]: unknown;
}
export interface Approval {
  id: string;
  session: string;
  turnId: string;
  tool: string;
  warning?: string | null;
  chatName?: string | null;
  /**
   * ISO 8601
   */
  createdAt: string;
  /**
   * ISO 8601
   */
  expiresAt: string;
  [k: string]: unknown;
}
export interface Schedule {
  id: string;
  session: string;
  task: string;
  nextAt: string | null;
  lastAt: string | null;
  /**
   * ISO 8601
   */
  createdAt: string;
  [k: string]: unknown;
}
