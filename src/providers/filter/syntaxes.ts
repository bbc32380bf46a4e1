/**
 * How models write tool calls into their text: one row for each syntax of the published chat templates, with the marks
 * that begin and end it. What stands between them is read by `readMarkedCalls`, whatever the row: models mix them.
 */

/** One syntax. */
export interface CallSyntax {
  begins: readonly string[];
  /** Without any, it ends where its first bracket closes. */
  ends: readonly string[];
  /** It counts only where a line begins. */
  atLine?: true;
}

/** Begins a call, or text for everyone. */
export const FUNCTIONARY = '>>>';
export const FOR_ALL = 'all\n';

export const CALL_SYNTAXES: readonly CallSyntax[] = [
  // Hermes, Qwen, ERNIE, EXAONE 4, SmolLM3, Granite 4, Cogito; with tags inside: Qwen-coder, Step 3.5, MiMo; with pairs: GLM.
  { begins: ['<tool_call>'], ends: ['</tool_call>'] },
  // Jamba, Hunyuan, MiniMax M1, Apriel.
  { begins: ['<tool_calls>'], ends: ['</tool_calls>'] },
  // Granite 3, Phi-4-mini.
  { begins: ['<|tool_call|>'], ends: ['<|/tool_call|>'] },
  // Llama 3.1, Functionary 3.1, Qwen-coder without its wrapper; MiniCPM5.
  { begins: ['<function=', '<function name='], ends: ['</function>'] },
  // Granite 20B; GigaChat 3.
  { begins: ['<function_call>'], ends: ['</function_call>'] },
  { begins: ['<|function_call|>'], ends: ['<|message_sep|>'] },
  { begins: ['function call<|role_sep|>'], ends: ['<|message_sep|>'], atLine: true },
  // Olmo 3, Claude-like.
  { begins: ['<function_calls>'], ends: ['</function_calls>'] },
  { begins: ['<invoke name='], ends: ['</invoke>'] },
  // Llama 3.1 and 4.
  { begins: ['<|python_tag|>'], ends: ['<|eom_id|>', '<|eot_id|>'] },
  { begins: ['<|python_start|>'], ends: ['<|python_end|>'] },
  // Mistral.
  { begins: ['[TOOL_CALLS]'], ends: ['</s>'] },
  // DeepSeek up to V3.1, as it writes its own tokens and as it spells them; Step 3.
  {
    begins: [
      '<｜tool▁calls▁begin｜>',
      '<｜tool_calls_begin｜>',
      '<｜tool calls begin｜>',
      '<｜tool\\_calls\\_begin｜>',
      '<｜tool▁calls｜>',
    ],
    ends: [
      '<｜tool▁calls▁end｜>',
      '<｜tool_calls_end｜>',
      '<｜tool calls end｜>',
      '<｜tool\\_calls\\_end｜>',
    ],
  },
  { begins: ['<｜tool▁call▁begin｜>'], ends: ['<｜tool▁call▁end｜>'] },
  // DeepSeek V3.2 and V4, GigaChat 3.5.
  { begins: ['<｜DSML｜function_calls>'], ends: ['</｜DSML｜function_calls>'] },
  { begins: ['<｜DSML｜tool_calls>'], ends: ['</｜DSML｜tool_calls>'] },
  { begins: ['<｜GCML｜tool_calls>'], ends: ['</｜GCML｜tool_calls>'] },
  // Kimi K2, Kimi K3.
  { begins: ['<|tool_calls_section_begin|>'], ends: ['<|tool_calls_section_end|>'] },
  { begins: ['<|tool_call_begin|>'], ends: ['<|tool_call_end|>'] },
  { begins: ['<|open|>tools<|sep|>'], ends: ['<|close|>tools<|sep|>'] },
  // MiniMax M2 and M3, Seed-OSS, LongCat.
  { begins: ['<minimax:tool_call>'], ends: ['</minimax:tool_call>'] },
  { begins: [']<]minimax[>[<tool_call>'], ends: [']<]minimax[>[</tool_call>'] },
  { begins: ['<seed:tool_call>'], ends: ['</seed:tool_call>'] },
  { begins: ['<longcat_tool_call>'], ends: ['</longcat_tool_call>'] },
  // Nemotron.
  { begins: ['<TOOLCALL>'], ends: ['</TOOLCALL>'] },
  { begins: ['<toolcall>'], ends: ['</toolcall>'] },
  // FireFunction, Phi-4-mini.
  { begins: ['functools['], ends: [] },
  // Command R7B and A; Command R.
  { begins: ['<|START_ACTION|>'], ends: ['<|END_ACTION|>'] },
  { begins: ['Action: ```json', 'Action:```json', 'Action:\n```json'], ends: ['```'], atLine: true },
  // FunctionGemma, Gemma 4.
  { begins: ['<start_function_call>'], ends: ['<end_function_call>'] },
  { begins: ['<|tool_call>'], ends: ['<tool_call|>'] },
  // LM Studio's own prompt for models without tools.
  { begins: ['[TOOL_REQUEST]'], ends: ['[END_TOOL_REQUEST]'] },
  // InternLM, Intern-S1.
  { begins: ['<|action_start|>'], ends: ['<|action_end|>'] },
  // LFM2, MiniCPM 3 and 4; Pangu.
  { begins: ['<|tool_call_start|>'], ends: ['<|tool_call_end|>'] },
  { begins: ['[unused11]'], ends: ['[unused12]'] },
  // Apertus.
  { begins: ['<|tools_prefix|>'], ends: ['<|tools_suffix|>'] },
  // Functionary 3.2 and 2.
  { begins: [FUNCTIONARY], ends: [] },
  { begins: ['<|from|>assistant', '<|from|> assistant'], ends: [], atLine: true },
  // MiroThinker, CWM, Solar, PLaMo, Inkling, HyperCLOVA X, Qwen-Agent.
  { begins: ['<use_mcp_tool>'], ends: ['</use_mcp_tool>'] },
  { begins: ['<tool: '], ends: ['</tool>'] },
  { begins: ['<|tool_call:start|>'], ends: ['<|tool_call:end|>'] },
  { begins: ['<|plamo:begin_tool_requests:plamo|>'], ends: ['<|plamo:end_tool_requests:plamo|>'] },
  { begins: ['<|content_invoke_tool_json|>', '<|message_model|>'], ends: ['<|end_message|>'] },
  { begins: ['-> tool/function_call'], ends: [], atLine: true },
  { begins: ['✿FUNCTION✿'], ends: [] },
];
