/** One call in the syntax of each published chat template, with its source. Each calls `list_dir` with the path "docs". */

/** A syntax as a test names it, an answer in it, and the text before the call that is no part of it. */
export interface Sample {
  models: string;
  answer: string;
  text?: string;
  /** The syntax counts only at the beginning of an answer. */
  bare?: true;
}

const JSON_CALL = '{"name": "list_dir", "arguments": {"path": "docs"}}';
const PARAMETERS = '{"name": "list_dir", "parameters": {"path": "docs"}}';
const ARGS = '{"path": "docs"}';
const CODE = 'list_dir(path="docs")';

export const SAMPLES: readonly Sample[] = [
  // @huggingface/ollama-utils 0.0.18 src/chat-template-automap.ts: qwen2.5, qwen3, qwq, hermes3, cogito, granite4.
  { models: 'Qwen 2.5 and 3, Hermes, Granite 4', answer: `<tool_call>\n${JSON_CALL}\n</tool_call>` },
  { models: 'Qwen in Ollama, without an end', answer: `<tool_call>\n${JSON_CALL}\n` },
  // The same: qwen3-coder; ggml-org/llama.cpp models/templates/StepFun3.7-Flash.jinja.
  {
    models: 'Qwen3-Coder, Step 3.5 and 3.7, MiMo',
    answer:
      '<tool_call>\n<function=list_dir>\n<parameter=path>\ndocs\n</parameter>\n</function>\n</tool_call>',
  },
  // The same: llama3.1, llama3.2.
  { models: 'Llama 3.1', answer: PARAMETERS, bare: true },
  {
    models: 'Llama 3.1 with its built-in tools',
    answer: '<|python_tag|>list_dir.call(path="docs")<|eom_id|>',
  },
  { models: 'Llama 3.1 with a custom tool', answer: `<function=list_dir>${ARGS}</function>` },
  // vllm-project/vllm examples/tool_chat_template_llama3.2_pythonic.jinja, tool_chat_template_toolace.jinja.
  { models: 'Llama 3.2, ToolACE', answer: `[${CODE}]`, bare: true },
  { models: 'Llama 3.2 with single quotes', answer: "[list_dir(path='docs')]<|eot_id|>", bare: true },
  // @huggingface/ollama-utils: llama4; vllm tool_chat_template_llama4_pythonic.jinja.
  { models: 'Llama 4', answer: `<|python_start|><|python_end|>${PARAMETERS}<|eot|>` },
  { models: 'Llama 4 as code', answer: `<|python_start|>[${CODE}]<|python_end|>` },
  // @huggingface/ollama-utils: devstral, mistral-large, mixtral.
  { models: 'Mistral', answer: `[TOOL_CALLS] [${JSON_CALL}]</s>` },
  { models: 'Mistral Small 3.2, Magistral', answer: `[TOOL_CALLS]list_dir[CALL_ID]a1b2c3d4e[ARGS]${ARGS}` },
  { models: 'Mistral since v13', answer: `[TOOL_CALLS]list_dir[ARGS]${ARGS}` },
  // @huggingface/ollama-utils: deepseek-r1, deepseek-v3, deepseek-v3.1.
  {
    models: 'DeepSeek R1 and V3',
    answer: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_dir\n\`\`\`json\n${ARGS}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  {
    models: 'DeepSeek V3.1',
    answer: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list_dir<｜tool▁sep｜>${ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  },
  // ggml-org/llama.cpp common/chat-parser: the tokens of DeepSeek as its distillations spell them.
  {
    models: 'DeepSeek R1 Distill',
    answer: `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>list_dir\n\`\`\`json\n${ARGS}\n\`\`\`<｜tool_call_end｜><｜tool_calls_end｜>`,
  },
  // llama.cpp models/templates/DeepSeek-V3.2.jinja; V4: sgl-project/sglang function_call/deepseekv4_detector.py.
  {
    models: 'DeepSeek V3.2',
    answer:
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="list_dir">\n<｜DSML｜parameter name="path" string="true">docs</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  },
  {
    models: 'DeepSeek V4',
    answer:
      '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="list_dir">\n<｜DSML｜parameter name="path" string="true">docs</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
  },
  // sglang function_call/gigachat35_detector.py; vllm tool_parsers/gigachat3_tool_parser.py.
  {
    models: 'GigaChat 3.5',
    answer:
      '<｜GCML｜tool_calls>\n<｜GCML｜invoke name="list_dir">\n<｜GCML｜parameter name="path" string="true">docs</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>',
  },
  { models: 'GigaChat 3', answer: `<|function_call|>${JSON_CALL}` },
  { models: 'GigaChat 3 with its role', answer: `<|message_sep|>function call<|role_sep|>\n${JSON_CALL}` },
  // llama.cpp models/templates/moonshotai-Kimi-K2.jinja, Kimi-K3.jinja.
  {
    models: 'Kimi K2',
    answer: `<|tool_calls_section_begin|><|tool_call_begin|>functions.list_dir:0<|tool_call_argument_begin|>${ARGS}<|tool_call_end|><|tool_calls_section_end|>`,
  },
  {
    models: 'Kimi K3',
    answer:
      '<|open|>tools<|sep|><|open|>call tool="list_dir" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>docs<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>',
  },
  {
    models: 'Kimi K3 with arguments as JSON',
    answer: `<|open|>tools<|sep|><|open|>call tool="list_dir" index="1"<|sep|><|open|>json type="object"<|sep|>${ARGS}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`,
  },
  // llama.cpp models/templates/GLM-4.6.jinja, glm_4_5.jinja; vllm spark3_tool_parser.py, hyperclovax_seed_think_tool_parser.py.
  {
    models: 'GLM 4.5, HyperCLOVA X SEED Think',
    answer: '<tool_call>list_dir\n<arg_key>path</arg_key>\n<arg_value>docs</arg_value>\n</tool_call>',
  },
  {
    models: 'GLM 4.7, Spark 3',
    answer: '<tool_call>list_dir<arg_key>path</arg_key><arg_value>docs</arg_value></tool_call>',
  },
  // THUDM/GLM-4-9B-0414 chat_template.jinja.
  { models: 'GLM 4', answer: `list_dir\n${ARGS}`, bare: true },
  // llama.cpp models/templates/unsloth-MiniMax-M2.jinja; vllm minimax_tool_parser.py; sglang minimax_m3.py.
  {
    models: 'MiniMax M2',
    answer:
      '<minimax:tool_call>\n<invoke name="list_dir">\n<parameter name="path">docs</parameter>\n</invoke>\n</minimax:tool_call>',
  },
  { models: 'MiniMax M1', answer: `<tool_calls>\n${JSON_CALL}\n</tool_calls>` },
  {
    models: 'MiniMax M3',
    answer: [
      '<tool_call>',
      '\n',
      '<invoke name="list_dir">',
      '<path>',
      'docs',
      '</path>',
      '</invoke>',
      '\n',
      '</tool_call>',
    ]
      .map((part) => (part.startsWith('<') ? `]<]minimax[>[${part}` : part))
      .join(''),
  },
  // llama.cpp models/templates/ByteDance-Seed-OSS.jinja.
  {
    models: 'Seed-OSS',
    answer:
      '<seed:tool_call>\n<function=list_dir>\n<parameter=path>docs</parameter>\n</function>\n</seed:tool_call>',
  },
  // sglang function_call/longcat_detector.py.
  { models: 'LongCat', answer: `<longcat_tool_call>\n${JSON_CALL}\n</longcat_tool_call>` },
  // @huggingface/ollama-utils: granite3-dense, granite3.3, phi4-mini; vllm tool_chat_template_granite_20b_fc.jinja.
  { models: 'Granite 3', answer: `<|tool_call|>[${JSON_CALL}]` },
  { models: 'Phi-4-mini in Ollama', answer: `<|tool_call|>[${JSON_CALL}]<|/tool_call|>` },
  { models: 'Granite 20B', answer: `<function_call> ${JSON_CALL}` },
  // @huggingface/ollama-utils: firefunction-v2; vllm phi4mini_tool_parser.py.
  { models: 'FireFunction, Phi-4-mini', answer: `functools[${JSON_CALL}]` },
  // @huggingface/ollama-utils: nemotron-mini; llama.cpp models/templates/NVIDIA-Nemotron-Nano-v2.jinja.
  { models: 'Nemotron Nano and Super', answer: `<TOOLCALL>[${JSON_CALL}]</TOOLCALL>` },
  { models: 'Nemotron Mini', answer: `<toolcall> ${JSON_CALL} </toolcall>` },
  // @huggingface/ollama-utils: command-r, command-r7b, command-a; sglang cohere_command4_detector.py.
  {
    models: 'Command R',
    answer: `Action: \`\`\`json\n[\n    {\n        "tool_name": "list_dir",\n        "parameters": ${ARGS}\n    }\n]\`\`\``,
  },
  {
    models: 'Command R7B and A',
    answer: `<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "list_dir", "parameters": ${ARGS}}\n]<|END_ACTION|>`,
  },
  // vllm functiongemma_tool_parser.py; llama.cpp models/templates/gemma4.jinja; vllm tool_chat_template_gemma3_pythonic.jinja.
  {
    models: 'FunctionGemma',
    answer: '<start_function_call>call:list_dir{path:<escape>docs<escape>}<end_function_call>',
  },
  { models: 'Gemma 4', answer: '<|tool_call>call:list_dir{path:<|"|>docs<|"|>}<tool_call|>' },
  { models: 'Gemma 3', answer: `\`\`\`tool_code\n${CODE}\n\`\`\``, bare: true },
  { models: 'Gemma 3 that prints', answer: `\`\`\`tool_code\nprint(${CODE})\n\`\`\``, bare: true },
  // lmstudio.ai/docs/developer/openai-compat/tools: the format of models without their own.
  { models: 'LM Studio', answer: `[TOOL_REQUEST]${JSON_CALL}[END_TOOL_REQUEST]` },
  // vllm tool_chat_template_internlm2_tool.jinja, intern_s1_tool_parser.py.
  { models: 'InternLM, Intern-S1', answer: `<|action_start|><|plugin|>\n${PARAMETERS}<|action_end|>` },
  // sglang lfm2_detector.py; llama.cpp models/templates/llama-cpp-lfm2.jinja; vllm tool_chat_template_minicpm3.jinja.
  { models: 'LFM2', answer: `<|tool_call_start|>[${CODE}]<|tool_call_end|>` },
  { models: 'LFM2 with JSON', answer: `<|tool_call_start|>[${JSON_CALL}]<|tool_call_end|>` },
  {
    models: 'MiniCPM 3 and 4',
    answer: `<|tool_call_start|>\n\`\`\`python\n${CODE}\n\`\`\`\n<|tool_call_end|>`,
  },
  // sglang minicpm5_detector.py; vllm pangu_tool_parser.py.
  {
    models: 'MiniCPM 5',
    answer: '<function name="list_dir"><param name="path"><![CDATA[docs]]></param></function>',
  },
  { models: 'Pangu', answer: `[unused11][${JSON_CALL}][unused12]` },
  // vllm tool_chat_template_apertus.jinja; sglang apertus2509_detector.py.
  { models: 'Apertus', answer: `<|tools_prefix|>[{"list_dir": ${ARGS}}]<|tools_suffix|><|assistant_end|>` },
  // llama.cpp common/chat.cpp (functionary_v3_2); meetkai/functionary-small-v2.4 chat template.
  { models: 'Functionary 3.2', answer: `>>>list_dir\n${ARGS}` },
  { models: 'Functionary 2', answer: `list_dir\n<|content|>${ARGS}<|stop|>`, bare: true },
  // vllm tool_chat_template_olmo3.jinja.
  { models: 'Olmo 3', answer: `<function_calls>\n${CODE}\n</function_calls>` },
  // vllm tool_chat_template_hunyuan_a13b.jinja, hy_v3_tool_parser.py, jamba_tool_parser.py.
  { models: 'Hunyuan A13B, Jamba, Apriel', answer: `<tool_calls>[${JSON_CALL}]</tool_calls>` },
  {
    models: 'Hunyuan 3',
    answer:
      '<tool_calls>\n<tool_call>list_dir<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>docs</arg_value>\n</tool_call>\n</tool_calls>',
  },
  // vllm tool_chat_template_xlam_llama.jinja, tool_chat_template_xlam_qwen.jinja.
  { models: 'xLAM', answer: `[${JSON_CALL}]`, bare: true },
  // vllm step3_tool_parser.py.
  {
    models: 'Step 3',
    answer:
      '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="list_dir"><steptml:parameter name="path">docs</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
  },
  // llama.cpp models/templates/MiroThinker-v1.jinja.
  {
    models: 'MiroThinker',
    answer: `<use_mcp_tool>\n<server_name>files</server_name>\n<tool_name>list_dir</tool_name>\n<arguments>\n${ARGS}\n</arguments>\n</use_mcp_tool>`,
  },
  // vllm cwm_tool_parser.py.
  { models: 'CWM', answer: `<tool: function>\nlist_dir ${ARGS}\n</tool>` },
  // vllm solar_open2_tool_parser.py, plamo3_tool_parser.py; sglang inkling_detector.py.
  {
    models: 'Solar Open 2',
    answer:
      '<|tool_call:start|>list_dir\n<|tool_arg:start|>path<|tool_arg:value|>docs<|tool_arg:end|>\n<|tool_call:end|>',
  },
  {
    models: 'PLaMo 3',
    answer: `<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>list_dir<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>${ARGS}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>`,
  },
  {
    models: 'Inkling',
    answer: `<|message_model|>list_dir<|content_invoke_tool_json|>{"name":"list_dir","args":${ARGS}}<|end_message|>`,
  },
  // vllm tool_chat_template_hyperclovax_seed_think_14b.jinja.
  { models: 'HyperCLOVA X SEED 14B', answer: ` -> tool/function_call\n[${JSON_CALL}]<|im_end|>`, bare: true },
  // QwenLM/Qwen-Agent qwen_agent/llm/fncall_prompts/qwen_fncall_prompt.py.
  { models: 'Qwen-Agent', answer: `✿FUNCTION✿: list_dir\n✿ARGS✿: ${ARGS}` },
  // docs.claude.com: the tags of models trained on Claude's transcripts.
  {
    models: 'tags like Claude’s',
    answer:
      '<function_calls>\n<invoke name="list_dir">\n<parameter name="path">docs</parameter>\n</invoke>\n</function_calls>',
  },
  // openai/harmony docs/format.md.
  {
    models: 'gpt-oss',
    answer: `<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.list_dir <|constrain|>json<|message|>${ARGS}<|call|>`,
    bare: true,
  },
];
